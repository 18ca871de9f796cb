"""Making a source's load provider by modelexpress' conventions."""

import logging
import os
from collections.abc import Mapping

from nic_metrics.blend import Blend, greatest
from nic_metrics.errors import MetricsUrlError
from nic_metrics.interfaces import Signal
from nic_metrics.provider import SourceLoadProvider
from nic_metrics.scraper import ServingLoadScraper
from nic_metrics.serving_load import ServingLoadReader
from nic_metrics.signals import SignalReason, UnknownSignal

METRICS_URL_VARIABLE = "MX_P2P_RUNTIME_METRICS_URL"
"""The environment variable that holds the address of the engine's metrics."""

_log = logging.getLogger(__name__)


def make_source_load_provider(
    nic: Signal | None = None,
    *,
    metrics_url: str | None = None,
    environ: Mapping[str, str] | None = None,
    reader: ServingLoadReader | None = None,
    scrape_interval_seconds: float = 10.0,
    blend: Blend = greatest,
    max_age_seconds: float = 60.0,
    smoothing_seconds: float = 0.0,
    hold_seconds: float = 0.0,
    unknown_load: float | None = None,
) -> SourceLoadProvider:
    """Return what tells the load of this process as a weight source, from its NIC and its engine.

    Its signals are called `nic` and `serving`. Each is read once before this returns, so that the first heartbeat already has
    counters to compare with; the engine is asked beside it.

    Args:
        nic: The load of the NIC that transfers use, such as `nic_signal(choose_nics(read_topology(), os.environ))` or
            `NicSignal([PortId("mlx5_0")])`; None: the NIC isn't measured.
        metrics_url: Address of the engine's metrics; "" for none. None: what MX_P2P_RUNTIME_METRICS_URL holds. An address there
            that isn't one is logged, and the signal is unknown: a source must start whatever its environment holds.
        environ: The process's environment; None: `os.environ`.
        reader: What reads the metrics; one that selects a rank lets a rank report its own load.
        scrape_interval_seconds: Between two questions to the engine.
        blend: See SourceLoadProvider.
        max_age_seconds: See SourceLoadProvider.
        smoothing_seconds: See SourceLoadProvider.
        hold_seconds: See SourceLoadProvider.
        unknown_load: See SourceLoadProvider.

    Raises:
        MetricsUrlError: `metrics_url` isn't an address.
        ValueError: A number is out of range.
    """
    signals: dict[str, Signal] = {} if nic is None else {"nic": nic}
    url = (
        (os.environ if environ is None else environ).get(METRICS_URL_VARIABLE, "")
        if metrics_url is None
        else metrics_url
    )
    if url:
        try:
            signals["serving"] = ServingLoadScraper(url, reader=reader, interval_seconds=scrape_interval_seconds)
        except MetricsUrlError as error:
            if metrics_url is not None:
                raise
            _log.warning("%s: %s; the load of the engine is unknown", METRICS_URL_VARIABLE, error)
            signals["serving"] = UnknownSignal(SignalReason.BAD_ADDRESS, str(error))
    provider = SourceLoadProvider(
        signals,
        blend=blend,
        max_age_seconds=max_age_seconds,
        smoothing_seconds=smoothing_seconds,
        hold_seconds=hold_seconds,
        unknown_load=unknown_load,
    )
    provider()
    return provider

"""`nic-metrics load`: the one load that a weight source would publish, and where it came from."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nic_metrics.cli._output import number, print_columns, print_json
from nic_metrics.cli._usage import UsageError, selected
from nic_metrics.interfaces import Signal
from nic_metrics.nic_signal import Combine, NicSignal
from nic_metrics.ports import DEFAULT_ROOT, PortId
from nic_metrics.provider import SourceLoad, SourceLoadProvider
from nic_metrics.scraper import ServingLoadScraper
from nic_metrics.serving_load import ServingLoadReader
from nic_metrics.source_load import METRICS_URL_VARIABLE

SCHEMA = "nic-metrics.load/1"
_TITLES = ("SIGNAL", "LOAD", "AGE", "REASON", "DETAIL")


def run_load(
    *,
    device: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    busiest: Annotated[bool, Parameter(negative="")] = False,
    root: Path = Path(DEFAULT_ROOT),
    url: str | None = None,
    engine: int | None = None,
    dp_rank: int | None = None,
    interval_seconds: Annotated[float, Parameter(name="--interval")] = 1.0,
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Print the one load that a weight source would publish, and where it came from.

    It asks the engine, and measures the NIC over an interval. Exits 1 when the
    load is unknown.

    Args:
        device: A NIC that transfers use, as DEVICE or DEVICE:PORT. May be repeated for several rails.
        busiest: The transfers use one of the devices, it isn't known which: the busiest counts.
        root: The class directory, or a tree that was captured.
        url: Address of the engine's metrics; by default what MX_P2P_RUNTIME_METRICS_URL holds.
        engine: Count only series with this label `engine`.
        dp_rank: Count only series with this label `dp_rank`.
        interval_seconds: Time over which the NIC is measured.
        json_lines: Print one JSON object.
    """
    if not 0 < interval_seconds <= _LONGEST_SECONDS:
        raise UsageError(f"--interval {interval_seconds:g} is not above 0 and at most {_LONGEST_SECONDS:g}")
    signals: dict[str, Signal] = {}
    if device:
        ports = [_port(text) for text in device]
        signals["nic"] = NicSignal(ports, combine=Combine.BUSIEST if busiest else Combine.RAILS, root=root)
    address = os.environ.get(METRICS_URL_VARIABLE, "") if url is None else url
    if address:
        signals["serving"] = _asked_once(address, ServingLoadReader(select=selected(engine, dp_rank)))
    if not signals:
        raise UsageError(f"nothing to measure: give --device or --url, or set {METRICS_URL_VARIABLE}")
    if device:
        time.sleep(interval_seconds)
    provider = SourceLoadProvider(signals)
    try:
        provider()
        _print(provider.explain(), json_lines=json_lines)
    finally:
        provider.close()
    return int(provider.explain().value is None)


def _asked_once(address: str, reader: ServingLoadReader) -> ServingLoadScraper:
    scraper = ServingLoadScraper(address, reader=reader)
    scraper.scrape()
    # A closed one starts no thread.
    scraper.close()
    return scraper


def _port(text: str) -> PortId:
    name, colon, port = text.partition(":")
    if colon and not (port.isascii() and port.isdecimal()):
        raise UsageError(f"--device {text} is not DEVICE or DEVICE:PORT, such as mlx5_0:1")
    return PortId(name, int(port) if colon else 1)


def _print(load: SourceLoad, *, json_lines: bool) -> None:
    if json_lines:
        signals = {
            name: {
                "load": reading.value,
                "reason": reading.reason,
                "age_seconds": reading.age_seconds,
                "detail": reading.detail,
            }
            for name, reading in load.signals.items()
        }
        print_json(SCHEMA, {"load": load.value, "reason": load.reason, "signals": signals})
        return
    rows: list[Sequence[str]] = [
        (name, number(reading.value, 3), f"{reading.age_seconds:.1f}s", reading.reason or "", reading.detail)
        for name, reading in load.signals.items()
    ]
    print_columns(_TITLES, [*rows, ("load", number(load.value, 3), "", load.reason or "", "")])


# More than a NIC's longest window says nothing about now.
_LONGEST_SECONDS = 60.0

"""`nic-metrics load`: the one load that a weight source would publish, and where it came from."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nic_metrics.cli._output import number, print_columns, print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS, class_directory
from nic_metrics.cli._usage import UsageError, check_timeout, selected
from nic_metrics.interfaces import Signal
from nic_metrics.nic_choice import choose_nics
from nic_metrics.nic_signal import NicSignal, nic_signal
from nic_metrics.provider import SourceLoad, SourceLoadProvider
from nic_metrics.scraper import ServingLoadScraper
from nic_metrics.serving_load import ServingLoadReader
from nic_metrics.source_load import METRICS_URL_VARIABLE
from nic_metrics.topology import Topology, read_topology

SCHEMA = "nic-metrics.load/1"
_TITLES = ("SIGNAL", "LOAD", "AGE", "REASON", "DETAIL")


def run_load(
    *,
    device: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    busiest_of: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    gpu: str | None = None,
    nic: bool = True,
    root: Path = DEFAULT_SYSFS,
    url: str | None = None,
    engine: int | None = None,
    dp_rank: int | None = None,
    interval_seconds: Annotated[float, Parameter(name="--interval")] = 1.0,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 1.0,
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Print the one load that a weight source would publish, and where it came from.

    It measures the NIC that transfers use over an interval, and asks the engine.
    Which NIC that is say the flags, or MX_RDMA_NIC_PIN and UCX_NET_DEVICES.
    Exits 1 when the load is unknown.

    Args:
        device: A port that transfers use, such as mlx5_0:1. May be repeated for several rails.
        busiest_of: A port that transfers may use, where nothing says which they do: the busiest counts. May be repeated.
        gpu: PCI address of the GPU, for a pin that goes by it.
        nic: Measure the NIC, or leave it out.
        root: What stands for /sys: the host's, mounted elsewhere, or a tree that was captured.
        url: Address of the engine's metrics; by default what MX_P2P_RUNTIME_METRICS_URL holds.
        engine: Count only series with this label `engine`.
        dp_rank: Count only series with this label `dp_rank`.
        interval_seconds: Time over which the NIC is measured.
        timeout_seconds: Longest time for the engine's whole answer.
        json_lines: Print one JSON object.
    """
    if not 0 < interval_seconds <= _LONGEST_SECONDS:
        raise UsageError(f"--interval {interval_seconds:g} is not above 0 and at most {_LONGEST_SECONDS:g}")
    check_timeout(timeout_seconds)
    signals: dict[str, Signal] = {}
    if nic:
        # Of other devices than the named ones nothing is read.
        topology = Topology((), ()) if device else read_topology(root, root=class_directory(root))
        choice = choose_nics(topology, os.environ, gpu=gpu, devices=device or None, busiest_of=busiest_of or None)
        signals["nic"] = nic_signal(choice, root=class_directory(root))
    address = os.environ.get(METRICS_URL_VARIABLE, "") if url is None else url
    if address:
        reader = ServingLoadReader(select=selected(engine, dp_rank))
        signals["serving"] = _asked_once(ServingLoadScraper(address, reader=reader, deadline_seconds=timeout_seconds))
    if isinstance(signals.get("nic"), NicSignal):
        time.sleep(interval_seconds)
    provider = SourceLoadProvider(signals)
    try:
        provider()
        _print(provider.explain(), json_lines=json_lines)
    finally:
        provider.close()
    return int(provider.explain().value is None)


def _asked_once(scraper: ServingLoadScraper) -> ServingLoadScraper:
    scraper.scrape()
    # A closed one starts no thread.
    scraper.close()
    return scraper


def _print(load: SourceLoad, *, json_lines: bool) -> None:
    if json_lines:
        signals = {
            name: {
                "load": reading.value,
                "reason": reading.reason,
                "age_seconds": round(reading.age_seconds, 3),
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

"""What ports and signals tell, for Prometheus, and the one table that the exporter and the documents read.

    registry = make_registry([PortId("mlx5_0")], source_load=lambda: provider.explain().signals)
    prometheus_client.start_http_server(9465, registry=registry)

The table needs nothing; `make_registry` needs the extra `[prometheus]`. Names end as node_exporter's of the class `infiniband` do, so
that a panel moves by one replacement; with its prefix, both would add up. What isn't known has no series.
"""

import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from nic_metrics.errors import MissingExtraError
from nic_metrics.ports import DEFAULT_ROOT, PortId

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["FAMILIES", "MetricFamily", "SignalLoad", "make_registry", "markdown_table"]


class SignalLoad(Protocol):
    """What a signal tells: its load, 0 to 1 or None, and how long ago it was so."""

    @property
    def value(self) -> float | None:
        """The load; None when unknown."""

    @property
    def age_seconds(self) -> float:
        """Its age."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """One metric family.

    Attributes:
        name: Its name in the exposition; a counter's with `_total`.
        kind: Its type, in Prometheus' words.
        unit: Of its numbers, for people.
        labels: Its labels, in the order of their values.
        help: What it is, in one sentence.
    """

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    labels: tuple[str, ...]
    help: str


_PORT = ("device", "port")

TRANSMITTED = MetricFamily(
    name="nic_metrics_port_data_transmitted_bytes_total",
    kind="counter",
    unit="bytes",
    labels=_PORT,
    help="Bytes sent; no series where the counter can't be read or stands at its limit.",
)
RECEIVED = MetricFamily(
    name="nic_metrics_port_data_received_bytes_total",
    kind="counter",
    unit="bytes",
    labels=_PORT,
    help="Bytes received; no series where the counter can't be read or stands at its limit.",
)
RATE = MetricFamily(
    name="nic_metrics_rate_bytes_per_second",
    kind="gauge",
    unit="bytes per second",
    labels=_PORT,
    help="Capacity of each direction, as the port states it; a port that is down states one too.",
)
STATE = MetricFamily(
    name="nic_metrics_state_id",
    kind="gauge",
    unit="IBTA's number",
    labels=_PORT,
    help="Logical state: 1 down, 2 init, 3 armed, 4 active, 5 active deferred.",
)
PHYSICAL_STATE = MetricFamily(
    name="nic_metrics_physical_state_id",
    kind="gauge",
    unit="IBTA's number",
    labels=_PORT,
    help="Physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 link error recovery.",
)
UTILIZATION = MetricFamily(
    name="nic_metrics_port_utilization_ratio",
    kind="gauge",
    unit="ratio, 0 to 1",
    labels=_PORT,
    help="The busier direction over capacity since the scrape before; no series where it is unknown.",
)
UNKNOWN = MetricFamily(
    name="nic_metrics_port_unknown",
    kind="gauge",
    unit="0 or 1",
    labels=(*_PORT, "reason"),
    help="1 for the reason why the port's utilisation is unknown.",
)
SOURCE_LOAD = MetricFamily(
    name="nic_metrics_source_load_ratio",
    kind="gauge",
    unit="ratio, 0 to 1",
    labels=("signal",),
    help="Load that a signal of the source's load tells; no series where it is unknown.",
)
SOURCE_LOAD_AGE = MetricFamily(
    name="nic_metrics_source_load_age_seconds",
    kind="gauge",
    unit="seconds",
    labels=("signal",),
    help="How long ago a signal's load was so; no series where it is unknown.",
)
BUILD_INFO = MetricFamily(
    name="nic_metrics_build_info",
    kind="gauge",
    unit="0 or 1",
    labels=("version",),
    help="Always 1; the label tells the version of nic-metrics.",
)

FAMILIES: tuple[MetricFamily, ...] = (
    TRANSMITTED,
    RECEIVED,
    RATE,
    STATE,
    PHYSICAL_STATE,
    UTILIZATION,
    UNKNOWN,
    SOURCE_LOAD,
    SOURCE_LOAD_AGE,
    BUILD_INFO,
)
"""Every family, in the order of the exposition."""


def make_registry(
    ports: Iterable[PortId],
    *,
    root: str | os.PathLike[str] = DEFAULT_ROOT,
    source_load: Callable[[], Mapping[str, SignalLoad]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> "CollectorRegistry":
    """Return a registry of its own that reads the ports when it is scraped.

    Utilisation is that since the scrape before, whoever made it; one that comes within a second gets the same again.

    Args:
        ports: The ports to export. They need not exist now.
        root: The class directory.
        source_load: Gives the loads by the name of their signal; asked once a scrape, on the thread that scrapes.
        clock: Monotonic seconds.

    Raises:
        MissingExtraError: The extra `[prometheus]` isn't installed.
    """
    if importlib.util.find_spec("prometheus_client") is None:
        raise MissingExtraError("exporting metrics", "prometheus")
    from nic_metrics._collector import PortCollector, registry_of  # noqa: PLC0415 - needs the extra

    return registry_of(PortCollector(tuple(ports), root, source_load, clock))


def markdown_table() -> str:
    """Return the families as a Markdown table, a row each, for the documents."""
    rows = ["| family | type | labels | unit | meaning |", "|---|---|---|---|---|"]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append(f"| `{family.name}` | {family.kind} | {labels} | {family.unit} | {family.help} |")
    return "\n".join(rows) + "\n"

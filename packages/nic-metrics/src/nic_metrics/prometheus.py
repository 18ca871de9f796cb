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


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A family of the exposition.

    Attributes:
        name: As it is exposed; a counter's ends in `_total`.
        help: What it is, in one sentence.
        unit: What its numbers count, for people.
        labels: Names of its labels, in the order of their values.
        kind: Its type, as Prometheus calls it.
    """

    name: str
    help: str
    unit: str
    labels: tuple[str, ...] = ("device", "port")
    kind: Literal["counter", "gauge"] = "gauge"


def _total(name: str, text: str) -> MetricFamily:
    return MetricFamily(
        name, f"{text}; no series where the counter can't be read or stands at its limit.", "bytes", kind="counter"
    )


TRANSMITTED = _total("nic_metrics_port_data_transmitted_bytes_total", "Bytes sent")
RECEIVED = _total("nic_metrics_port_data_received_bytes_total", "Bytes received")
RATE = MetricFamily(
    "nic_metrics_rate_bytes_per_second",
    "Capacity of each direction, as the port states it; a port that is down states one too.",
    "bytes per second",
)
STATE = MetricFamily(
    "nic_metrics_state_id",
    "Logical state: 1 down, 2 init, 3 armed, 4 active, 5 active deferred.",
    "IBTA's number",
)
PHYSICAL_STATE = MetricFamily(
    "nic_metrics_physical_state_id",
    "Physical state: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 link error recovery.",
    "IBTA's number",
)
UTILIZATION = MetricFamily(
    "nic_metrics_port_utilization_ratio",
    "The busier direction over capacity since the scrape before; no series where it is unknown.",
    "ratio, 0 to 1",
)
LOWER_BOUND = MetricFamily(
    "nic_metrics_port_lower_bound",
    "1 where one direction can't be read: the port is at least as busy as its utilisation says.",
    "0 or 1",
)
UNKNOWN = MetricFamily(
    "nic_metrics_port_unknown",
    "1 for the reason why the port's utilisation is unknown.",
    "0 or 1",
    ("device", "port", "reason"),
)
SOURCE_LOAD = MetricFamily(
    "nic_metrics_source_load_ratio",
    "Load that a signal of the source's load tells; no series where it is unknown.",
    "ratio, 0 to 1",
    ("signal",),
)
SOURCE_LOAD_AGE = MetricFamily(
    "nic_metrics_source_load_age_seconds",
    "How long ago a signal's load was so; no series where it is unknown.",
    "seconds",
    ("signal",),
)
BUILD_INFO = MetricFamily(
    "nic_metrics_build_info", "Always 1; the label tells the version of nic-metrics.", "0 or 1", ("version",)
)

FAMILIES: tuple[MetricFamily, ...] = (
    TRANSMITTED,
    RECEIVED,
    RATE,
    STATE,
    PHYSICAL_STATE,
    UTILIZATION,
    LOWER_BOUND,
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

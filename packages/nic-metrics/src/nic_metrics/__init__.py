"""What RDMA NICs say of themselves: ports, link rate, byte counters, and how busy a port was between two samples.

`list_ports` finds them, `PortSampler` measures them, `measure` is the arithmetic alone.
"""

from nic_metrics.counters import BYTE_SOURCES, ByteSource, CounterSet
from nic_metrics.errors import LinkRateError, LinkRateProblem, MissingExtraError, NicMetricsError, PortIdError
from nic_metrics.link_rate import LinkRate, parse_link_rate
from nic_metrics.ports import (
    DEFAULT_ROOT,
    CodedState,
    Port,
    PortId,
    PortInventory,
    SkippedDevice,
    SkipReason,
    list_ports,
    read_port,
)
from nic_metrics.sampler import ByteTotals, PortSampler
from nic_metrics.utilization import Direction, PortSample, UnknownReason, Utilization, measure, next_baseline

__all__ = [
    "BYTE_SOURCES",
    "DEFAULT_ROOT",
    "ByteSource",
    "ByteTotals",
    "CodedState",
    "CounterSet",
    "Direction",
    "LinkRate",
    "LinkRateError",
    "LinkRateProblem",
    "MissingExtraError",
    "NicMetricsError",
    "Port",
    "PortId",
    "PortIdError",
    "PortInventory",
    "PortSample",
    "PortSampler",
    "SkipReason",
    "SkippedDevice",
    "UnknownReason",
    "Utilization",
    "list_ports",
    "measure",
    "next_baseline",
    "parse_link_rate",
    "read_port",
]

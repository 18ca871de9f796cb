from collections.abc import Callable as Callable, Mapping
from enum import StrEnum
from nic_metrics._matching import cheapest as cheapest
from nic_metrics.pci import PciPlace as PciPlace, shared_depth as shared_depth
from nic_metrics.ports import PortId as PortId, natural_order as natural_order
from nic_metrics.topology import Nic as Nic, Topology as Topology

class AffinityPolicy(StrEnum):
    MODELEXPRESS = 'modelexpress'
    BALANCED_THEN_CLOSEST = 'balanced_then_closest'

def affinity_map(topology: Topology, policy: AffinityPolicy, *, min_rate_gbps: float | None = None) -> Mapping[str, PortId]: ...

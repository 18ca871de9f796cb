from collections.abc import Callable as Callable, Iterable, Mapping
from nic_metrics.affinity import AffinityPolicy as AffinityPolicy, affinity_map as affinity_map
from nic_metrics.errors import NicChoiceError as NicChoiceError
from nic_metrics.nic_choice import ChoiceOrigin as ChoiceOrigin, Combination as Combination, NicChoice as NicChoice, NoNicReason as NoNicReason, parse_nics as parse_nics
from nic_metrics.pci import normalize_pci_address as normalize_pci_address
from nic_metrics.ports import PortId as PortId
from nic_metrics.topology import Topology as Topology

PIN_VARIABLE: str
PIN_MIN_RATE_VARIABLE: str
UCX_VARIABLE: str
UCX_RAILS_VARIABLE: str

def choose_nics(topology: Topology, environ: Mapping[str, str], *, gpu: str | None = None, cuda_index: int | None = None, devices: str | Iterable[str | PortId] | None = None, resolver: Callable[[], str | Iterable[str | PortId]] | None = None, pinned_by: AffinityPolicy | None = None, busiest_of: str | Iterable[str | PortId] | None = None) -> NicChoice: ...

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from nic_metrics.combining import busiest as busiest, combine_rails as combine_rails
from nic_metrics.errors import NicChoiceError as NicChoiceError, PortIdError as PortIdError
from nic_metrics.ports import PortId as PortId
from nic_metrics.utilization import Utilization as Utilization

class ChoiceOrigin(StrEnum):
    CALLER = 'caller'
    POLICY = 'policy'
    MX_RDMA_NIC_PIN = 'mx_rdma_nic_pin'
    UCX_NET_DEVICES = 'ucx_net_devices'
    BUSIEST_OF = 'busiest_of'

class NoNicReason(StrEnum):
    TRANSPORT_CHOOSES = 'transport_chooses'
    GPU_UNKNOWN = 'gpu_unknown'
    NO_ELIGIBLE_NIC = 'no_eligible_nic'
    NOT_RDMA = 'not_rdma'
    SETTING_UNREADABLE = 'setting_unreadable'

class Combination(StrEnum):
    RAILS = 'rails'
    BUSIEST = 'busiest'

@dataclass(frozen=True, slots=True)
class NicChoice:
    ports: tuple[PortId, ...]
    origin: ChoiceOrigin | None
    reason: NoNicReason | None
    combination: Combination
    detail: str
    def combine(self, samples: Mapping[PortId, Utilization]) -> Utilization | None: ...

def parse_nics(text: str) -> tuple[PortId, ...]: ...

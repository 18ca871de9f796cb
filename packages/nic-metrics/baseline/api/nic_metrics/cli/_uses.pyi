from _typeshed import Incomplete
from collections.abc import Iterable, Mapping, Sequence
from nic_metrics.cli._output import number as number, print_json as print_json
from nic_metrics.cli._topology import numbers as numbers
from nic_metrics.ports import Port as Port, PortId as PortId
from nic_metrics.utilization import UnknownReason as UnknownReason, Utilization as Utilization

Uses = Mapping[PortId, Utilization]

def print_uses_json(schema: str, unix_seconds: float, uses: Uses) -> None: ...

class UseLines:
    def __init__(self, ports: Iterable[PortId]) -> None: ...
    def print(self, unix_seconds: float, uses: Uses) -> None: ...

TABLE_TITLES: Incomplete

def table_rows(uses: Uses, ports: Mapping[PortId, Port], gpus: Mapping[str, tuple[int, ...]]) -> Sequence[tuple[str, ...]]: ...

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from nic_metrics.ports import PortId
from prometheus_client import CollectorRegistry
from typing import Literal, Protocol

__all__ = ['SignalLoad', 'MetricFamily', 'FAMILIES', 'make_registry', 'markdown_table']

class SignalLoad(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def age_seconds(self) -> float: ...

@dataclass(frozen=True, slots=True)
class MetricFamily:
    name: str
    help: str
    unit: str
    labels: tuple[str, ...] = ...
    kind: Literal['counter', 'gauge'] = ...

FAMILIES: tuple[MetricFamily, ...]

def make_registry(ports: Iterable[PortId], *, root: str | os.PathLike[str] = ..., source_load: Callable[[], Mapping[str, SignalLoad]] | None = None, clock: Callable[[], float] = ...) -> CollectorRegistry: ...
def markdown_table() -> str: ...

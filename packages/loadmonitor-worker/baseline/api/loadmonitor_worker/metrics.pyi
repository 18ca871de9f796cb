from dataclasses import dataclass
from loadmonitor_worker.reporter import LoadReporter
from prometheus_client import CollectorRegistry
from typing import Literal

__all__ = ['MetricFamily', 'FAMILIES', 'make_registry', 'markdown_table']

@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    name: str
    kind: Literal['counter', 'gauge', 'histogram']
    unit: str
    label: str | None = ...
    help: str

FAMILIES: tuple[MetricFamily, ...]

def make_registry(reporter: LoadReporter) -> CollectorRegistry: ...
def markdown_table() -> str: ...

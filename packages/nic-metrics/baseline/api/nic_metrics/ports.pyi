import os
from _typeshed import Incomplete
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from nic_metrics._reading import read_text as read_text
from nic_metrics.errors import LinkRateError as LinkRateError, LinkRateProblem as LinkRateProblem, PortIdError as PortIdError
from nic_metrics.link_rate import LinkRate as LinkRate, parse_link_rate as parse_link_rate
from pathlib import Path

DEFAULT_ROOT: Incomplete

@dataclass(frozen=True, slots=True, order=True)
class PortId:
    device: str
    port: int = ...
    def __post_init__(self) -> None: ...
    def __hash__(self) -> int: ...

@dataclass(frozen=True, slots=True)
class CodedState:
    code: int
    word: str

@dataclass(frozen=True, slots=True)
class Port:
    id: PortId
    state: CodedState | None
    phys_state: CodedState | None
    link_layer: str | None
    rate: LinkRate | None
    rate_problem: LinkRateProblem | None
    @property
    def active(self) -> bool | None: ...

class SkipReason(StrEnum):
    DANGLING_LINK = 'dangling_link'
    NO_PORTS = 'no_ports'

@dataclass(frozen=True, slots=True)
class SkippedDevice:
    device: str
    reason: SkipReason

@dataclass(frozen=True, slots=True)
class PortInventory:
    ports: tuple[Port, ...]
    skipped: tuple[SkippedDevice, ...]

def list_ports(root: str | os.PathLike[str] = ..., *, devices: Collection[str] | None = None) -> PortInventory: ...
def read_port(port: PortId, root: str | os.PathLike[str] = ...) -> Port: ...
def port_directory(port: PortId, root: str | os.PathLike[str]) -> Path: ...
def parse_state(text: str | None) -> CodedState | None: ...
def is_active(state: CodedState | None) -> bool | None: ...
def natural_order(name: str) -> list[tuple[int, str]]: ...

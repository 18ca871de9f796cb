from _typeshed import Incomplete
from dataclasses import dataclass
from typing import NamedTuple

@dataclass(frozen=True, slots=True)
class ByteSource:
    name: str
    tx_files: tuple[str, ...]
    rx_files: tuple[str, ...]
    bytes_per_count: int = ...
    may_be_32_bit: bool = ...
    @property
    def cached(self) -> bool: ...

BYTE_SOURCES: Incomplete
NETLINK_SOURCES: Incomplete

class CounterSet(NamedTuple):
    source: ByteSource
    tx: tuple[int, ...] | None
    rx: tuple[int, ...] | None
    generation: int = ...

def count(data: bytes | None) -> int | None: ...

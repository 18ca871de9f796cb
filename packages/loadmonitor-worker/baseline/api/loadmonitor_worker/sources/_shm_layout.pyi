from _typeshed import Incomplete
from collections.abc import Callable as Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from loadmonitor_worker.errors import SourceUnavailableError as SourceUnavailableError
from typing import Final

MAGIC: Final[bytes]
VERSION: Final[int]
SLOT_SIZE: Final[int]
HEADER: Final[Incomplete]
SLOT_LENGTH: Final[Incomplete]

class ShmReason(StrEnum):
    NO_FILE = 'no_file'
    PERMISSION = 'permission'
    READ_FAILED = 'read_failed'
    INCOMPLETE_FILE = 'incomplete_file'
    WRONG_MAGIC = 'wrong_magic'
    OTHER_VERSION = 'other_version'
    OTHER_DP_SIZE = 'other_dp_size'
    OVERSIZED_SLOT = 'oversized_slot'
    TORN_SLOT = 'torn_slot'
    LOCK_BUSY = 'lock_busy'
    RANK_NOT_STARTED = 'rank_not_started'
    SEVERAL_LIVE = 'several_live'

class SlotFault(Enum):
    CHANGING = 'changed while copied'
    WRITING = 'half written'
    NOT_STARTED = 'never written'
    CUT_SHORT = 'cut off by the end of the file'
    OVERSIZED = 'longer than a slot'
    MALFORMED = 'not a MessagePack map'

@dataclass(frozen=True, slots=True)
class ShmHeader:
    version: int
    dp_size: int
    slot_size: int
    def slot_offset(self, dp_rank: int) -> int: ...
    @property
    def file_size(self) -> int: ...
    def check(self, *, file_size: int, dp_size: int | None, where: str) -> None: ...

def parse_header(data: bytes, *, where: str) -> ShmHeader: ...
def slot_length(copy: bytes) -> int: ...
def parse_slot(first: bytes, second: bytes, *, slot_size: int, decode: Callable[[bytes], object]) -> Mapping[object, object] | SlotFault: ...

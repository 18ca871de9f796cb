"""The layout of SGLang's load snapshot file, version 2, read from bytes.

A header `<4sHHI` (magic, version, number of ranks, slot size) and one slot per rank: `<I` length, a MessagePack map of that
length, zeros. A writer first sets the length to 0, then writes map and zeros, then the length; it leaves fields out of
the map that have their default. So a length of 0 before a map is a write in progress, and before a zero byte, which never
starts a map, a slot that was never written.

Pure: neither files nor locks nor msgspec.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from loadmonitor_worker.errors import SourceUnavailableError

MAGIC: Final = b"SLNS"
VERSION: Final = 2
SLOT_SIZE: Final = 16_384
HEADER: Final = struct.Struct("<4sHHI")
SLOT_LENGTH: Final = struct.Struct("<I")


class ShmReason(StrEnum):
    """Why SGLang's load snapshot file can't be used; the `reason` of SourceUnavailableError."""

    NO_FILE = "no_file"
    """There is no such file, or no directory to look in."""
    PERMISSION = "permission"
    """This process may not read it."""
    READ_FAILED = "read_failed"
    """The operating system failed to read it."""
    INCOMPLETE_FILE = "incomplete_file"
    """It is shorter than its header says, or has no header yet."""
    WRONG_MAGIC = "wrong_magic"
    """It isn't a load snapshot file."""
    OTHER_VERSION = "other_version"
    """Its layout isn't the one of SGLang 0.5.23."""
    OTHER_DP_SIZE = "other_dp_size"
    """It has another number of ranks than was asked for."""
    OVERSIZED_SLOT = "oversized_slot"
    """A slot claims a length beyond its size."""
    TORN_SLOT = "torn_slot"
    """A slot stays unreadable and nobody is writing."""
    LOCK_BUSY = "lock_busy"
    """A slot stays unreadable while its writer, stopped or starved, holds the file's lock."""
    RANK_NOT_STARTED = "rank_not_started"
    """A rank has never written its slot."""
    SEVERAL_LIVE = "several_live"
    """More than one engine publishes in the directory."""


class SlotFault(Enum):
    """Why two copies of a slot don't make a snapshot."""

    CHANGING = "changed while copied"
    WRITING = "half written"
    NOT_STARTED = "never written"
    CUT_SHORT = "cut off by the end of the file"
    OVERSIZED = "longer than a slot"
    MALFORMED = "not a MessagePack map"


@dataclass(frozen=True, slots=True)
class ShmHeader:
    """What the header of a file says.

    Attributes:
        version: Layout version.
        dp_size: Number of ranks.
        slot_size: Bytes per slot, the length included.
    """

    version: int
    dp_size: int
    slot_size: int

    def slot_offset(self, dp_rank: int) -> int:
        """Return where the slot of a rank starts."""
        return HEADER.size + dp_rank * self.slot_size

    @property
    def file_size(self) -> int:
        """Bytes that a complete file has."""
        return self.slot_offset(self.dp_size)

    def check(self, *, file_size: int, dp_size: int | None, where: str) -> None:
        """Make sure that the slots can be read.

        Args:
            file_size: Bytes in the file.
            dp_size: Number of ranks the file must have, or None for any.
            where: The file's path, for messages.

        Raises:
            SourceUnavailableError: The layout is another one, the number of ranks is, or the file is too short.
        """
        if self.version != VERSION or not self.dp_size or self.slot_size <= SLOT_LENGTH.size:
            raise SourceUnavailableError(
                ShmReason.OTHER_VERSION,
                f"{where} has layout version {self.version} ({self.dp_size} ranks, slots of {self.slot_size} bytes), readable "
                f"is version {VERSION} of SGLang 0.5.23: run a loadmonitor-worker that knows this engine's SGLang",
            )
        if dp_size is not None and self.dp_size != dp_size:
            raise SourceUnavailableError(
                ShmReason.OTHER_DP_SIZE,
                f"{where} has {self.dp_size} ranks, expected are {dp_size}: give the engine's --dp-size, or none to take the "
                "file's",
            )
        if file_size < self.file_size:
            raise SourceUnavailableError(
                ShmReason.INCOMPLETE_FILE,
                f"{where} has {file_size} of the {self.file_size} bytes that {self.dp_size} ranks take: it was cut short; "
                "restart the engine",
            )


def parse_header(data: bytes, *, where: str) -> ShmHeader:
    """Read the header from the first bytes of a file.

    Args:
        data: The first bytes; fewer than a header when the file is that short.
        where: The file's path, for messages.

    Raises:
        SourceUnavailableError: There is no header, or it is no load snapshot file's.
    """
    if len(data) < HEADER.size or not any(data):
        raise SourceUnavailableError(
            ShmReason.INCOMPLETE_FILE, f"{where} has no header yet: the engine is starting, or died while it did"
        )
    magic, *numbers = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise SourceUnavailableError(
            ShmReason.WRONG_MAGIC,
            f"{where} starts with {magic!r}, not {MAGIC!r}: it isn't a load snapshot file of SGLang",
        )
    return ShmHeader(*numbers)


def slot_length(copy: bytes) -> int:
    """Return the length that a copy of a slot claims for its map; 0 when the copy is too short to say."""
    return int(SLOT_LENGTH.unpack_from(copy)[0]) if len(copy) >= SLOT_LENGTH.size else 0


def parse_slot(
    first: bytes, second: bytes, *, slot_size: int, decode: Callable[[bytes], object]
) -> Mapping[object, object] | SlotFault:
    """Read a slot from two copies that were taken without a lock, one after the other.

    Args:
        first: The slot's bytes from its start, at least up to the end of its map unless the file ends before.
        second: The same range, read again.
        slot_size: Bytes per slot.
        decode: Decodes exactly one MessagePack value; raises ValueError or RecursionError on anything else.

    Returns:
        The map, or why there is none.
    """
    if first != second:
        return SlotFault.CHANGING
    length = slot_length(second)
    payload = second[SLOT_LENGTH.size : SLOT_LENGTH.size + length]
    if length > slot_size - SLOT_LENGTH.size:
        return SlotFault.OVERSIZED
    if len(second) <= SLOT_LENGTH.size or len(payload) < length:
        return SlotFault.CUT_SHORT
    if not length:
        return SlotFault.WRITING if second[SLOT_LENGTH.size] else SlotFault.NOT_STARTED
    try:
        value = decode(payload)
    except (ValueError, RecursionError):
        return SlotFault.MALFORMED
    return value if isinstance(value, dict) else SlotFault.MALFORMED

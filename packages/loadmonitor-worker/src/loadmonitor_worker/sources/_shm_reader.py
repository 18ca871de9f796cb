"""One load snapshot file, read without locking.

Never mapped: reading a mapping of a file that shrank is answered with SIGBUS, reading the file with fewer bytes.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NoReturn, Self

from loadmonitor_worker._validate import name_ranks
from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.sources._shm_layout import (
    HEADER,
    SLOT_LENGTH,
    ShmReason,
    SlotFault,
    parse_header,
    parse_slot,
    slot_length,
)

_FIRST_READ_BYTES: Final = 1_024
"""Read of each slot at first; SGLang 0.5.23 fills about 600 bytes. A longer map is read again as a whole."""


class ShmFile:
    """A load snapshot file, opened for one pull, so that a file replaced under its name is never read on.

    Args:
        path: The file.
        decode: Decodes exactly one MessagePack value; raises ValueError or RecursionError on anything else.

    Attributes:
        path: The file.
        header: Its header, which `check` has yet to judge.

    Raises:
        SourceUnavailableError: The file can't be opened, or has no header of SGLang's.
    """

    def __init__(self, path: Path, decode: Callable[[bytes], object]) -> None:
        self.path = path
        self._decode = decode
        self._fd = _open(path)
        try:
            self.header = parse_header(self._read(HEADER.size, 0), where=str(path))
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def check(self, dp_size: int | None) -> None:
        """Make sure, as of now, that the slots can be read and are `dp_size`; None allows any number.

        Raises:
            SourceUnavailableError: They can't, or aren't.
        """
        self.header.check(file_size=os.fstat(self._fd).st_size, dp_size=dp_size, where=str(self.path))

    def read_slots(self, dp_ranks: Iterable[int]) -> dict[int, Mapping[object, object] | SlotFault]:
        """Read the slots of these ranks once, each from two copies; takes no lock and never waits for a writer."""
        first = {rank: self._copy(rank) for rank in dp_ranks}
        second = {rank: self._copy(rank) for rank in first}
        size = self.header.slot_size
        return {rank: parse_slot(first[rank], second[rank], slot_size=size, decode=self._decode) for rank in first}

    def fail(self, faults: Mapping[int, SlotFault], tried_ms: int) -> NoReturn:
        """Raise the error for slots that stayed unreadable; only here the lock is asked after, once.

        Args:
            faults: What is wrong with each unreadable rank, at least one.
            tried_ms: How long reading was tried.

        Raises:
            SourceUnavailableError: Always; the reason tells the faults apart.
        """
        kinds = set(faults.values())
        what = f"{self.path}: " + "; ".join(
            f"{name_ranks([rank for rank in faults if faults[rank] is kind])} {kind.value}"
            for kind in SlotFault
            if kind in kinds
        )
        if SlotFault.NOT_STARTED in kinds:
            raise SourceUnavailableError(
                ShmReason.RANK_NOT_STARTED,
                f"{what}, of {self.header.dp_size} ranks: the engine is starting, or part of it died then",
            )
        if SlotFault.CUT_SHORT in kinds:
            self.check(None)
        if SlotFault.OVERSIZED in kinds:
            raise SourceUnavailableError(ShmReason.OVERSIZED_SLOT, f"{what}: the file is damaged; restart the engine")
        if self._lock_is_busy():
            raise SourceUnavailableError(
                ShmReason.LOCK_BUSY,
                f"{what} for {tried_ms} ms, and the file's lock is held: the engine was stopped while it wrote, or gets no "
                "CPU time",
            )
        raise SourceUnavailableError(
            ShmReason.TORN_SLOT,
            f"{what} for {tried_ms} ms, and nobody holds the file's lock: the engine died while it wrote; restart it",
        )

    def _copy(self, dp_rank: int) -> bytes:
        size, offset = self.header.slot_size, self.header.slot_offset(dp_rank)
        copy = self._read(min(size, _FIRST_READ_BYTES), offset)
        needed = SLOT_LENGTH.size + slot_length(copy)
        return copy if needed <= len(copy) or needed > size else self._read(needed, offset)

    def _read(self, size: int, offset: int) -> bytes:
        try:
            return os.pread(self._fd, size, offset)
        except OSError as error:
            raise _read_failed(self.path, error) from error

    def _lock_is_busy(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return False


def _open(path: Path) -> int:
    try:
        # Without O_NONBLOCK a pipe under this name, which any user may put into /dev/shm, would block the event loop.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise SourceUnavailableError(ShmReason.NO_FILE, f"there is no {path}: start the engine") from None
    except PermissionError as error:
        raise _no_permission(path) from error
    except OSError as error:
        raise _read_failed(path, error) from error
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise SourceUnavailableError(ShmReason.NO_FILE, f"{path} is no regular file: name SGLang's load snapshot file")


def _no_permission(path: Path) -> SourceUnavailableError:
    uid = os.geteuid()
    try:
        status = path.stat()
    except OSError:
        return SourceUnavailableError(
            ShmReason.PERMISSION, f"uid {uid}, which this process runs as, may not search the directory of {path}"
        )
    return SourceUnavailableError(
        ShmReason.PERMISSION,
        f"{path} has mode {stat.S_IMODE(status.st_mode):04o} and belongs to uid {status.st_uid}, this process runs as uid "
        f"{uid}: run it as uid {status.st_uid}",
    )


def _read_failed(path: Path, error: OSError) -> SourceUnavailableError:
    return SourceUnavailableError(ShmReason.READ_FAILED, f"{path} can't be read: {error.strerror or error}")

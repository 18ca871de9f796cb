"""Reading the small files of sysfs: once, or again and again through a file that is held open."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

_Value = TypeVar("_Value")

# Far more than any counter, rate or state; a file that holds something else must not cost memory.
_SIZE = 256
# A FIFO in a replayed tree must not make the caller wait for a writer.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# What a held file answers once its device is gone; a device of the same name may have come since.
_GONE = frozenset({errno.ENODEV, errno.ENXIO, errno.ESTALE})


def read_text(path: Path) -> str | None:
    """Give what a file holds, stripped of white space; None when it can't be read or holds nothing."""
    held = HeldFile(str(path))
    try:
        data = held.read()
    finally:
        held.close()
    return data.decode("utf-8", "replace").strip() or None if data else None


class HeldFile:
    """A file that is opened when first read, and read from its start each time.

    Not thread-safe: its owner holds a lock.

    Attributes:
        generation: How often it has been opened. Two numbers of different generations are of different devices, perhaps.
    """

    __slots__ = ("_fd", "_path", "_refusable", "_refused", "generation")

    def __init__(self, path: str, *, refusable: bool = False) -> None:
        """Name the file; `refusable` if EINVAL means that it must be left alone."""
        self._path = path
        self._refusable = refusable
        self._refused = False
        self._fd: int | None = None
        self.generation = 0

    @property
    def held(self) -> bool:
        """Whether the file is open: it exists, even where it couldn't be read just now."""
        return self._fd is not None

    def read(self) -> bytes | None:
        """Give what the file holds now, or None when it can't be read."""
        if self._fd is not None:
            try:
                return os.pread(self._fd, _SIZE, 0)
            except OSError as error:
                if error.errno not in _GONE:
                    self._note(error)
                    return None
                self.close()
        elif self._refused:
            return None
        try:
            self._fd = os.open(self._path, _FLAGS)
            self.generation += 1
            return os.pread(self._fd, _SIZE, 0)
        except OSError as error:
            self._note(error)
            return None

    @property
    def unlinked(self) -> bool:
        """Whether the file is open and has no name any more: it says the same for ever.

        In sysfs such a file answers ENODEV; a tree that is kept in step with another machine's has its files replaced. Looking
        costs twice as much as reading.
        """
        return self._fd is not None and os.fstat(self._fd).st_nlink == 0

    def enable(self) -> None:
        """Read the file again although it once said EINVAL."""
        self._refused = False

    def close(self) -> None:
        """Let go of the file; the next read opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _note(self, error: OSError) -> None:
        if self._refusable and error.errno == errno.EINVAL:
            self._refused = True
            self.close()


class HeldValue(Generic[_Value]):
    """What a held file says; its text is parsed anew only when it changed, which costs more than reading it.

    Attributes:
        file: The file.
        data: What it held when it was last read; None when it could not be read.
    """

    __slots__ = ("_parse", "_value", "data", "file")

    def __init__(self, path: str, parse: Callable[[str], _Value | None]) -> None:
        """Name the file, and what makes a value of its text or None."""
        self.file = HeldFile(path)
        self.data: bytes | None = None
        self._parse = parse
        self._value: _Value | None = None

    def read(self) -> _Value | None:
        """Read the file now and give its value; None when it has none."""
        data = self.file.read()
        if data != self.data:
            self.data = data
            self._value = None if data is None else self._parse(data.decode("utf-8", "replace"))
        return self._value

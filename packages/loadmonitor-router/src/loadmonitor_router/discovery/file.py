"""Workers named in a file that somebody else rewrites."""

import asyncio
import json
import os
from pathlib import Path

from loadmonitor_router.discovery._poll import PollingDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT, check_port, target_of, target_set
from loadmonitor_router.errors import ConfigError, DiscoveryError, WorkerListError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.snapshot import WorkerTarget

_Signature = tuple[int, int, int, int]  # time of change, size, inode, device


class FileDiscovery(PollingDiscovery):
    """A Discovery that reads a file whenever its time of change, size or inode differs.

    Write another file and rename it over this one. A file that is caught half-written, gone, unreadable or empty is an error,
    and the last good set stands; `[]`, or a text of nothing but comments, says that there are no Workers.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        reporter_port: int = DEFAULT_REPORTER_PORT,
        interval_seconds: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        """Name the file; it may come later.

        Args:
            path: JSON (`["http://10.0.0.1:30000", {"url": …, "reporter": …, "worker_type": "prefill"}]`) or text with a URL a
                line, where `#` starts a comment.
            reporter_port: Where the reporters listen that the file doesn't name.
            interval_seconds: Time between two looks at the file; above 0.
            clock: Time; the machine's unless given.

        Raises:
            ConfigError: The interval or the port isn't allowed.
        """
        super().__init__(interval_seconds=interval_seconds, clock=clock)
        check_port("reporter_port", reporter_port)
        self._path = Path(path)
        self._port = reporter_port
        self._seen: _Signature | None = None
        self._fault: WorkerListError | None = None

    async def _look(self) -> tuple[WorkerTarget, ...] | None:
        try:
            seen, content = await asyncio.to_thread(self._read_if_changed)
        except OSError as error:
            self._seen = None
            raise DiscoveryError(f"{self._path} can't be read: {error.strerror or error}") from error
        self._seen = seen
        if content is not None:
            self._fault = None
            try:
                return parse_worker_file(content, self._port)
            except (DiscoveryError, ConfigError) as error:
                self._fault = WorkerListError(f"{self._path}: {error}")
        if self._fault is not None:
            raise self._fault
        return self._shown

    def _read_if_changed(self) -> tuple[_Signature | None, bytes | None]:
        with self._path.open("rb") as file:
            before = _signature(os.fstat(file.fileno()))
            if before == self._seen:
                return before, None
            content = file.read()
            # What changes while it is read may be of two minds, and is read again next time.
            return before if _signature(os.fstat(file.fileno())) == before else None, content


def parse_worker_file(content: bytes, reporter_port: int) -> tuple[WorkerTarget, ...]:
    """Return the Workers that a file names.

    Args:
        content: The file's bytes: JSON where it begins with a bracket, else text.
        reporter_port: Where the reporters listen that the file doesn't name.

    Raises:
        ConfigError: A URL or an address isn't allowed.
        WorkerListError: The file is empty, half-written or has another shape; the message says what is allowed.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise WorkerListError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    if not text.strip():
        raise WorkerListError("empty: write [] to say that there are no workers")
    entries = _json_entries(text) if text.lstrip()[0] in "[{" else _lines(text)
    return target_set(target_of(entry, reporter_port) for entry in entries)


def _json_entries(text: str) -> list[object]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise WorkerListError(f"not JSON, or half-written: {error}") from None
    if not isinstance(document, list):
        raise WorkerListError('an object, where a list of workers is expected: ["http://10.0.0.1:30000", …]')
    return document


def _lines(text: str) -> list[str]:
    if not text.endswith("\n"):
        raise WorkerListError(f"half-written: the last line, {text.splitlines()[-1]!r}, has no end")
    return [entry for line in text.splitlines() if (entry := line.partition("#")[0].strip())]


def _signature(status: os.stat_result) -> _Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev

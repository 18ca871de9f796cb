"""The embedded store with a file, for one replica that is to know its sources again after a restart."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Self

from p2p_registry.errors import BackendError
from p2p_registry.memory import MemoryBackend
from p2p_registry.records import WorkerRecord
from p2p_registry.snapshot import lock_snapshot, read_snapshot, write_snapshot

_log = logging.getLogger(__name__)


class SnapshotBackend(MemoryBackend):
    """A `MemoryBackend` that is written to a file where something changed: every few seconds, and at its closing.

    So a killed process loses what it was told in its last seconds; sources publish again by themselves. The file is replaced as a
    whole, in a thread, and belongs to this process alone: another one that opens it is refused.
    """

    def __init__(self, path: Path, lock: int, records: list[WorkerRecord]) -> None:
        """Hold what was read from `path`, and the descriptor of its lock; made by `open`."""
        super().__init__(records)
        self._path = path
        self._lock = lock
        self._written: list[WorkerRecord] | None = None
        # One thread, so that a write never overtakes another.
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="p2p-registry-snapshot")
        self._failure: BackendError | None = None
        self._saving: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, path: Path, *, interval_seconds: float = 5, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> Self:
        """Read the file, write it once to see that it can be written, and save it regularly from then on.

        Args:
            path: The file; where there is none, the store is empty. `PATH.new` beside it is written first, and `PATH.lock` stays there.
            interval_seconds: Pause between two saves, above 0.
            sleep: Waits between saves.

        Raises:
            BackendError: The file is damaged, of another version, another process', or can't be read or written; it is left as it is.
        """
        lock = lock_snapshot(path)
        try:
            backend = cls(path, lock, await asyncio.to_thread(read_snapshot, path))
            await backend.save()
        except BaseException:
            os.close(lock)
            raise
        backend._saving = asyncio.create_task(backend._save_forever(interval_seconds, sleep))
        return backend

    async def save(self) -> None:
        """Return when the file holds what the store holds now.

        Raises:
            BackendError: It can't be written, and has what it had.
        """
        records = self.records()
        if records == self._written:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, write_snapshot, self._path, records)
        except BackendError as error:
            self._failure = error
            raise
        self._written, self._failure = records, None

    async def ping(self) -> None:
        """Return where the last save succeeded.

        Raises:
            BackendError: It didn't, so what was told since would be lost with the process.
        """
        if self._failure is not None:
            raise self._failure

    async def aclose(self) -> None:
        """Save once more, and stop.

        Raises:
            BackendError: The file can't be written.
        """
        if self._saving is None:
            return
        saving, self._saving = self._saving, None
        saving.cancel()
        with suppress(asyncio.CancelledError):
            await saving
        try:
            await self.save()
        finally:
            self._writer.shutdown(wait=False)
            os.close(self._lock)

    async def _save_forever(self, interval_seconds: float, sleep: Callable[[float], Awaitable[object]]) -> None:
        while True:
            await sleep(interval_seconds)
            try:
                await self.save()
            except BackendError as error:
                _log.warning("%s; tried again in %s s", error, interval_seconds)

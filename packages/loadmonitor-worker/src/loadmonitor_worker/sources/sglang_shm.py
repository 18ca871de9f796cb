"""What an unmodified SGLang 0.5.23 publishes in shared memory."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from loadmonitor_worker.errors import ConfigError, InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._msgpack import msgpack_function
from loadmonitor_worker.sources._sglang_fields import to_rank_snapshot, with_defaults
from loadmonitor_worker.sources._shm_discovery import (
    LIVE_WITHIN_MS,
    SGLANG_DIRECTORY,
    choose_candidate,
    inspect_candidates,
)
from loadmonitor_worker.sources._shm_layout import SlotFault
from loadmonitor_worker.sources._shm_reader import ShmFile
from loadmonitor_worker.sources._time import system_unix_ms

_PAUSES_SECONDS: Final = (0.0, 0.0, 0.001, 0.002, 0.004, 0.008, 0.015, 0.02)
"""Waited before each further try of a slot that can't be read: 9 tries in 50 ms. A write takes microseconds, but its writer
may lose the CPU in the middle of it."""

_SEARCH_AGAIN_MS: Final = 1_000
"""How often a directory is searched while the file being read stands still."""

_logger = logging.getLogger(__name__)


class SglangShmSource:
    """Reads SGLang's load snapshot file without ever holding the engine up.

    No lock is taken: each slot is copied twice and used when both copies agree, and its MessagePack map fills exactly the
    length it claims; docs/sglang-shm.md says why that is enough. A slot that isn't readable is tried again within 50 ms,
    while the event loop runs on. Nothing is kept between pulls but the choice of the file.

    Without a path, the file is searched for in a directory: the one whose engine is live, or else the one with the latest
    sign of life, whose old timestamps then tell that it is old. The search is repeated when the file vanishes or has stood
    still for 10 s, so the source follows a restart of the engine.

    Args:
        path: The file to read, or None to search for it.
        directory: Where to search; only used without a path.
        dp_size: Number of ranks that the file must have, 1 to 65535, or None to take the file's word.
        unix_ms: The clock that tells live from dead, in milliseconds since the Unix epoch.

    Raises:
        ConfigError: `dp_size` is out of range.
        MissingExtraError: msgspec isn't installed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        directory: str | os.PathLike[str] = SGLANG_DIRECTORY,
        dp_size: int | None = None,
        unix_ms: Callable[[], int] = system_unix_ms,
    ) -> None:
        if dp_size is not None and not (type(dp_size) is int and 1 <= dp_size <= 65_535):
            raise ConfigError(f"dp_size={dp_size!r} is not allowed: 1 to 65535 is, or None to take the file's")
        self._decode = msgpack_function("decode", type(self).__name__)
        self._given_path = None if path is None else Path(path)
        self._directory = Path(directory)
        self._dp_size = dp_size
        self._unix_ms = unix_ms
        self._path = self._given_path
        self._dp_ranks = frozenset(range(dp_size or 0))
        self._newest_unix_ms: int | None = None
        self._searched_unix_ms = 0

    @property
    def path(self) -> Path | None:
        """The file being read; None while none has been found."""
        return self._path

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return ranks 0 to the number of ranks - 1; none while neither the file nor the caller has told the number."""
        return self._dp_ranks

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return what every rank published last.

        A rank whose writer exists but has not published yet has no snapshot time and no capacity.

        Raises:
            SourceUnavailableError: The file or a slot can't be read; `reason` is a word of ShmReason.
            InvalidSnapshotError: A value has the wrong type, or a slot is another rank's.
        """
        with self._open() as file:
            file.check(self._dp_size)
            self._dp_ranks = frozenset(range(file.header.dp_size))
            slots = await _read_all(file)
        loads = [_to_snapshot(rank, fields) for rank, fields in slots.items()]
        self._newest_unix_ms = max((load.snapshot_time_unix_ms or 0 for load in loads), default=None)
        return loads

    def _open(self) -> ShmFile:
        if self._given_path is not None:
            return ShmFile(self._given_path, self._decode)
        now_ms = self._unix_ms()
        if self._path is not None and not self._search_is_due(now_ms):
            with suppress(SourceUnavailableError):
                return ShmFile(self._path, self._decode)
        return ShmFile(self._search(now_ms), self._decode)

    def _search_is_due(self, now_ms: int) -> bool:
        # Distances, not ages: a wall clock that stepped back must not end the search for as long as it stepped.
        if self._newest_unix_ms is not None and abs(now_ms - self._newest_unix_ms) <= LIVE_WITHIN_MS:
            return False
        return abs(now_ms - self._searched_unix_ms) >= _SEARCH_AGAIN_MS

    def _search(self, now_ms: int) -> Path:
        before, self._path = self._path, None
        candidates = inspect_candidates(self._directory, now_ms, dp_size=self._dp_size)
        chosen = choose_candidate(candidates, self._directory)
        if chosen.path != before:
            _logger.info("reading %s; files in the directory: %d", chosen.detail, len(candidates))
        self._path = chosen.path
        self._searched_unix_ms = now_ms
        self._newest_unix_ms = None
        return chosen.path


async def _read_all(file: ShmFile) -> dict[int, Mapping[object, object]]:
    """Read every slot, unreadable ones again within the bound; in the order of the ranks."""
    started_ns = time.monotonic_ns()
    slots = file.read_slots(range(file.header.dp_size))
    for pause_seconds in _PAUSES_SECONDS:
        faults = _faults(slots)
        if not faults or SlotFault.NOT_STARTED in faults.values():
            break
        await asyncio.sleep(pause_seconds)
        slots |= file.read_slots(faults)
    if faults := _faults(slots):
        file.fail(faults, tried_ms=(time.monotonic_ns() - started_ns) // 1_000_000)
    return {rank: slot for rank, slot in slots.items() if not isinstance(slot, SlotFault)}


def _faults(slots: Mapping[int, Mapping[object, object] | SlotFault]) -> dict[int, SlotFault]:
    return {rank: slot for rank, slot in slots.items() if isinstance(slot, SlotFault)}


def _to_snapshot(dp_rank: int, fields: Mapping[object, object]) -> RankSnapshot:
    snapshot = to_rank_snapshot(with_defaults(fields))
    if snapshot.dp_rank != dp_rank:
        raise InvalidSnapshotError(
            f"the slot of rank {dp_rank} holds rank {snapshot.dp_rank}: the engine publishes another format than that of "
            "SGLang 0.5.23",
            dp_rank=dp_rank,
            field="dp_rank",
        )
    return snapshot

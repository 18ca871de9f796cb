import os
from collections.abc import Callable as Callable, Sequence
from loadmonitor_worker.errors import ConfigError as ConfigError, InvalidSnapshotError as InvalidSnapshotError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.sources._msgpack import msgpack_function as msgpack_function
from loadmonitor_worker.sources._sglang_fields import to_rank_snapshot as to_rank_snapshot, with_defaults as with_defaults
from loadmonitor_worker.sources._shm_discovery import LIVE_WITHIN_MS as LIVE_WITHIN_MS, SGLANG_DIRECTORY as SGLANG_DIRECTORY, choose_candidate as choose_candidate, inspect_candidates as inspect_candidates
from loadmonitor_worker.sources._shm_layout import SlotFault as SlotFault
from loadmonitor_worker.sources._shm_reader import ShmFile as ShmFile
from loadmonitor_worker.sources._time import system_unix_ms as system_unix_ms
from pathlib import Path

class SglangShmSource:
    def __init__(self, path: str | os.PathLike[str] | None = None, *, directory: str | os.PathLike[str] = ..., dp_size: int | None = None, unix_ms: Callable[[], int] = ...) -> None: ...
    @property
    def path(self) -> Path | None: ...
    def expected_dp_ranks(self) -> frozenset[int]: ...
    async def get_loads(self) -> Sequence[RankSnapshot]: ...

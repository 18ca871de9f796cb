import os
from _typeshed import Incomplete
from collections.abc import Callable as Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_worker.errors import InvalidSnapshotError as InvalidSnapshotError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.sources._msgpack import msgpack_function as msgpack_function
from loadmonitor_worker.sources._sglang_fields import snapshot_unix_ms as snapshot_unix_ms, with_defaults as with_defaults
from loadmonitor_worker.sources._shm_layout import ShmHeader as ShmHeader, ShmReason as ShmReason, SlotFault as SlotFault
from loadmonitor_worker.sources._shm_reader import ShmFile as ShmFile
from pathlib import Path
from typing import Final

SGLANG_DIRECTORY: Final[Incomplete]
FILE_PATTERN: Final[str]
LIVE_WITHIN_MS: Final[int]

class ShmVerdict(StrEnum):
    LIVE = 'live'
    SILENT = 'silent'
    FROZEN = 'frozen'
    UNUSABLE = 'unusable'

@dataclass(frozen=True, slots=True, kw_only=True)
class ShmCandidate:
    path: Path
    verdict: ShmVerdict
    dp_size: int | None
    version: int | None
    age_ms: int | None
    reason: str | None
    detail: str
    last_sign_unix_ms: int

def inspect_candidates(directory: str | os.PathLike[str], now_unix_ms: int, *, dp_size: int | None = None) -> tuple[ShmCandidate, ...]: ...
def choose_candidate(candidates: Sequence[ShmCandidate], directory: str | os.PathLike[str]) -> ShmCandidate: ...

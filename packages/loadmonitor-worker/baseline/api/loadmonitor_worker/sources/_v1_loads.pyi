from collections.abc import Mapping
from dataclasses import dataclass
from loadmonitor_worker.errors import InvalidSnapshotError as InvalidSnapshotError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot
from loadmonitor_worker.sources._http_answer import HttpReason as HttpReason, check_answer as check_answer
from loadmonitor_worker.sources._sglang_fields import KNOWN_KEYS as KNOWN_KEYS, TOTALS as TOTALS, to_rank_snapshot as to_rank_snapshot
from typing import Final

MOST_RANKS: Final[int]

@dataclass(frozen=True, slots=True)
class LoadsAnswer:
    ranks: tuple[RankSnapshot, ...]
    dp_size: int
    stamped_by_receipt: frozenset[int]

def parse_loads(status: int, headers: Mapping[str, str], body: bytes, *, received_unix_ms: int, where: str, with_key: bool) -> LoadsAnswer: ...

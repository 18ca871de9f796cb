from _typeshed import Incomplete
from collections.abc import Iterable
from loadmonitor_worker.errors import InvalidSnapshotError as InvalidSnapshotError
from loadmonitor_worker.snapshot import RankSnapshot as RankSnapshot

INT32_MAX: Incomplete
INT64_MAX: Incomplete

def validate_ranks(loads: Iterable[RankSnapshot], expected: frozenset[int], *, clamp: bool) -> tuple[list[RankSnapshot], int]: ...
def name_ranks(dp_ranks: list[int]) -> str: ...

from collections.abc import Mapping, Sequence
from loadmonitor_router.reports import RankLoad as RankLoad
from loadmonitor_router.snapshot import WorkerAggregate as WorkerAggregate

def aggregate_ranks(ranks: Sequence[RankLoad], queue_pressure_seconds: Mapping[int, float | None]) -> WorkerAggregate | None: ...

from collections.abc import Iterable
from dataclasses import dataclass
from loadmonitor_router.picking.inflight import Ticket as Ticket
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot
from typing import NamedTuple, Protocol, TypeAlias

class WorkerRank(NamedTuple):
    url: str
    dp_rank: int
Candidate: TypeAlias = str | WorkerRank

@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    url: str
    dp_rank: int | None
    score: float | None
    reason: str
    fail_open: bool
    ticket: Ticket

class Picker(Protocol):
    def pick(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Choice: ...

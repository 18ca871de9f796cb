import abc
from abc import ABC
from collections.abc import Iterable
from loadmonitor_router.errors import ConfigError as ConfigError, NoWorkerError as NoWorkerError
from loadmonitor_router.picking._survey import Known as Known, Survey as Survey, Surveyor as Surveyor, url_of as url_of, why_not as why_not
from loadmonitor_router.picking.choice import Candidate as Candidate, Choice as Choice, WorkerRank as WorkerRank
from loadmonitor_router.picking.inflight import InFlight as InFlight
from loadmonitor_router.picking.score import Load as Load
from loadmonitor_router.snapshot import FleetSnapshot as FleetSnapshot
from random import Random
from typing import Literal, NamedTuple

class _Scored(NamedTuple):
    candidate: Candidate
    score: float
    slots: float
    measured: bool

class _ScorePicker(ABC, metaclass=abc.ABCMeta):
    in_flight: InFlight
    def __init__(self, *, in_flight: InFlight | None = None, rng: Random | None = None, unknown_score: float | None = None, when_none_fresh: Literal['fail_open', 'refuse'] = 'fail_open', routers: int | None = None) -> None: ...
    def pick(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Choice: ...

class LeastLoaded(_ScorePicker): ...
class PowerOfTwoChoices(_ScorePicker): ...
class WeightedRandom(_ScorePicker): ...

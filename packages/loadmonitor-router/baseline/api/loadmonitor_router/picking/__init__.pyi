from loadmonitor_router.picking.choice import Candidate as Candidate, Choice as Choice, Picker as Picker, WorkerRank as WorkerRank
from loadmonitor_router.picking.inflight import DEFAULT_DISPATCH_MS as DEFAULT_DISPATCH_MS, DEFAULT_FORGET_AFTER_SECONDS as DEFAULT_FORGET_AFTER_SECONDS, InFlight as InFlight, Ticket as Ticket
from loadmonitor_router.picking.policies import LeastLoaded as LeastLoaded, PowerOfTwoChoices as PowerOfTwoChoices, WeightedRandom as WeightedRandom
from loadmonitor_router.picking.score import Load as Load, rank_load as rank_load, worker_load as worker_load

__all__ = ['Candidate', 'Choice', 'Picker', 'WorkerRank', 'DEFAULT_DISPATCH_MS', 'DEFAULT_FORGET_AFTER_SECONDS', 'InFlight', 'Ticket', 'LeastLoaded', 'PowerOfTwoChoices', 'WeightedRandom', 'Load', 'rank_load', 'worker_load']

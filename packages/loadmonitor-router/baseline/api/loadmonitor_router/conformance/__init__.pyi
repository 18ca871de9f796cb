from loadmonitor_router.conformance.results import Check as Check, ClauseResult as ClauseResult, Outcome as Outcome
from loadmonitor_router.conformance.run import CHECKS as CHECKS, check_worker as check_worker

__all__ = ['Check', 'ClauseResult', 'Outcome', 'CHECKS', 'check_worker']

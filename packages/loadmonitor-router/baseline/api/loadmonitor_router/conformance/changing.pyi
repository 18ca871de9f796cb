from collections.abc import Callable
from loadmonitor_proto import RouterFrame
from loadmonitor_router.conformance.frames import DAY_MS as DAY_MS, LONG_LEASE_MS as LONG_LEASE_MS, describe as describe, register as register, update as update
from loadmonitor_router.conformance.pace import GRANTED_PACE_MS as GRANTED_PACE_MS, at_least as at_least
from loadmonitor_router.conformance.results import Deviation as Deviation, check as check
from loadmonitor_router.conformance.stream import RouterStream as RouterStream
from loadmonitor_router.conformance.trial import QUIET_SECONDS as QUIET_SECONDS, Trial as Trial

Change = Callable[[str, int, int], RouterFrame]

async def new_terms(trial: Trial) -> str: ...
async def bad_changes(trial: Trial) -> str: ...
async def deadlines(trial: Trial) -> str: ...

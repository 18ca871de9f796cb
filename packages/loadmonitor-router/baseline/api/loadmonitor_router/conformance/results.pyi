from _typeshed import Incomplete
from collections.abc import Awaitable, Callable as Callable
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_router.conformance.trial import Trial as Trial

class Outcome(StrEnum):
    PASSED = 'passed'
    FAILED = 'failed'
    NOT_OFFERED = 'not offered'
    NOT_TESTABLE = 'not testable from here'

@dataclass(frozen=True, slots=True)
class ClauseResult:
    clause: str
    outcome: Outcome
    expected: str
    received: str

class Verdict(Exception):
    outcome: Outcome

class Deviation(Verdict):
    outcome: Incomplete

class NotOffered(Verdict):
    outcome: Incomplete

class NotTestable(Verdict):
    outcome: Incomplete

@dataclass(frozen=True, slots=True)
class Check:
    clause: str
    expects: str
    how: str
    run: Callable[[Trial], Awaitable[str]]
    is_extension: bool
    needs_registration: bool

def check(clause: str, *, expects: str, is_extension: bool = False, needs_registration: bool = True) -> Callable[[Callable[[Trial], Awaitable[str]]], Check]: ...

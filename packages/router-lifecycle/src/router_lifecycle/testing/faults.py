"""What goes wrong between a client and a router, to be injected into the fake."""

from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

SILENCE_SECONDS = 10.0
"""After how long an unanswered call ends in process."""


class Stage(Enum):
    """Whether the router saw the request that a fault befell."""

    BEFORE = "before"
    """The router never saw it: nothing was done."""
    AFTER = "after"
    """The router did it, and its answer was lost: the client can't tell from BEFORE."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that befalls a request. Make one with the functions of this module.

    Attributes:
        stage: Whether the router sees the request.
        reset: The connection breaks.
        silent_seconds: No answer ever comes, and in process, where httpx has no time-out of its own, the call ends with a
            read time-out after that many seconds of the router's clock; over a socket the client's own time-out ends it.
        delay_seconds: The answer comes that much later on the router's clock.
        status: Status of an answer from someone in between, or None for the router's own answer.
        headers: Headers of that answer.
        body: Body of that answer.
    """

    stage: Stage = Stage.BEFORE
    reset: bool = False
    silent_seconds: float | None = None
    delay_seconds: float = 0.0
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def lose_answer(timeout_seconds: float = SILENCE_SECONDS) -> Fault:
    """The router does what was asked; its answer never arrives, and the client runs into its time-out."""
    return Fault(stage=Stage.AFTER, silent_seconds=timeout_seconds)


def lose_request(timeout_seconds: float = SILENCE_SECONDS) -> Fault:
    """The request never arrives, and the client runs into its time-out."""
    return Fault(silent_seconds=timeout_seconds)


def reset(stage: Stage = Stage.BEFORE) -> Fault:
    """The connection breaks, before or after the router did what was asked."""
    return Fault(stage=stage, reset=True)


def delay(seconds: float) -> Fault:
    """The router does what was asked at once; its answer arrives that many seconds later."""
    return Fault(stage=Stage.AFTER, delay_seconds=seconds)


def too_many_requests(retry_after_seconds: float | None = None) -> Fault:
    """A limiter in front of the router answers 429, with `Retry-After` if given."""
    headers = {} if retry_after_seconds is None else {"retry-after": f"{retry_after_seconds:g}"}
    return Fault(status=429, headers=headers)


def server_error(status: int = 503, stage: Stage = Stage.BEFORE) -> Fault:
    """Someone answers 5xx: a proxy that doesn't reach the router, or one that lost its answer."""
    return Fault(
        stage=stage, status=status, headers={"content-type": "text/plain; charset=utf-8"}, body=b"upstream error"
    )


def html_page(status: int = 200, stage: Stage = Stage.BEFORE) -> Fault:
    """A middlebox answers with a page in HTML: a login page with 200, or its own error page."""
    page = b"<!DOCTYPE html><html><body><h1>Please wait</h1></body></html>"
    return Fault(stage=stage, status=status, headers={"content-type": "text/html"}, body=page)


@dataclass(slots=True)
class _Injection:
    fault: Fault
    method: str | None
    path: str
    times: int


class FaultPlan:
    """Which requests a fault befalls."""

    def __init__(self) -> None:
        """Plan nothing."""
        self._injections: list[_Injection] = []

    def add(self, fault: Fault, *, method: str | None = None, path: str = "*", times: int = 1) -> None:
        """Let a fault befall the next requests that match.

        Args:
            fault: What befalls them.
            method: `"POST"`, say, or None for any.
            path: Pattern of the path as it is sent, with `*` for any part: `/workers` is the collection, `/workers/*` one worker.
            times: How many of them, 1 or more. Faults befall in the order in which they were added, one per request.

        Raises:
            ValueError: `times` is below 1.
        """
        if times < 1:
            raise ValueError(f"times={times} is not allowed: a fault befalls 1 request or more")
        self._injections.append(_Injection(fault, method, path, times))

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault that befalls a request, and count it; None if none does."""
        for injection in self._injections:
            if injection.method in (None, method) and fnmatchcase(path, injection.path):
                injection.times -= 1
                if not injection.times:
                    self._injections.remove(injection)
                return injection.fault
        return None

    def clear(self) -> None:
        """Drop what hasn't befallen anyone yet."""
        self._injections.clear()

    @property
    def pending(self) -> int:
        """How many requests faults are still planned for."""
        return sum(injection.times for injection in self._injections)

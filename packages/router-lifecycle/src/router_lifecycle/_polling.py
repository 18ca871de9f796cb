"""Looking again and again: fast at first, ever slower, never past the deadline. tenacity counts, our clock decides."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

T = TypeVar("T")

_FIRST_WAIT_SECONDS = 0.05
_GROWTH = 1.5
_LONGEST_WAIT_SECONDS = 5.0
_JITTER = 0.2
_GROWTH_ENDS_AFTER = 32
# The last look needs some of the time itself.
_RESERVE_SECONDS = 0.5
_RESERVE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Deadline:
    """When an operation has to be over.

    Attributes:
        began_seconds: When it began, on a clock that never steps.
        at_seconds: When it ends.
    """

    began_seconds: float
    at_seconds: float

    @property
    def last_look_seconds(self) -> float:
        """When the last look has to begin."""
        return self.at_seconds - min(_RESERVE_SECONDS, _RESERVE_SHARE * (self.at_seconds - self.began_seconds))


@dataclass(frozen=True, slots=True)
class Looked(Generic[T]):
    """What one look brought.

    Attributes:
        value: The result, or None to look again.
        retry_after_seconds: How long the router asked to be left alone, or None.
    """

    value: T | None
    retry_after_seconds: float | None = None


class Poller:
    """Repeats a look until it brings a result or the time is over."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]], random: Random) -> None:
        """Take the clock, in seconds, and what waits on it."""
        self._clock = clock
        self._sleep = sleep
        self._random = random

    async def until(
        self,
        look: Callable[[], Awaitable[Looked[T]]],
        deadline: Deadline,
        *,
        wait_seconds: Callable[[float], float] | None = None,
    ) -> T | None:
        """Look until there is a value, and return it, or None once the deadline leaves no time for another look.

        Args:
            look: Looks once.
            deadline: When it has to be over.
            wait_seconds: Returns how long to wait before the next look, or None for waits that grow; it is given a factor around 1
                that spreads the looks of many.
        """

        def next_wait(state: RetryCallState) -> float:
            spread = self._random.uniform(1 - _JITTER, 1 + _JITTER)
            if wait_seconds is not None:
                wait = wait_seconds(spread)
            else:
                grown = _FIRST_WAIT_SECONDS * _GROWTH ** min(state.attempt_number - 1, _GROWTH_ENDS_AFTER)
                wait = min(grown, _LONGEST_WAIT_SECONDS) * spread
            asked = state.outcome.result().retry_after_seconds if state.outcome else None
            return max(0.0, min(max(wait, asked or 0.0), deadline.last_look_seconds - self._clock()))

        def is_over(_state: RetryCallState) -> bool:
            return self._clock() >= deadline.last_look_seconds

        retrying = AsyncRetrying(
            sleep=self._sleep,
            stop=is_over,
            wait=next_wait,
            retry=retry_if_result(_is_open),
            retry_error_callback=_last_look,
        )

        async def attempt() -> Looked[T]:
            # tenacity awaits what was written as a coroutine function, and nothing else that returns an awaitable.
            return await look()

        looked: Looked[T] = await retrying(attempt)
        return looked.value


def _is_open(looked: Looked[object]) -> bool:
    return looked.value is None


def _last_look(state: RetryCallState) -> object:
    return state.outcome.result() if state.outcome else None

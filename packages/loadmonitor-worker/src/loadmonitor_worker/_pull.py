"""One bounded pull of the source a fire, whatever the source does: fail, hang, ignore cancellation, change its ranks."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from loadmonitor_worker._abandon import abandonable
from loadmonitor_worker._describe import text_of
from loadmonitor_worker._validate import validate_ranks
from loadmonitor_worker._verdict import Attempt
from loadmonitor_worker.errors import SourceError
from loadmonitor_worker.interfaces import Clock, LoadSnapshotSource, TimerHandle

Deliver = Callable[[Attempt], None]


class Puller:
    """Reads a source within a budget, at most one read in flight.

    A read that outlives its budget is cancelled and left behind; until it has ended, every pull fails at once. Cancelled
    once more, by `ended` or by the program's end, it ends even if its source ignores that. The outcome is delivered
    from within the task that read, not after it: each pass through the event loop would be paid at every fire.

    Attributes:
        started_ns: When the newest read began.
    """

    def __init__(
        self,
        source: LoadSnapshotSource,
        expected_dp_ranks: Callable[[], frozenset[int]],
        clock: Clock,
        *,
        budget_ms: int,
        clamp: bool,
    ) -> None:
        self._source = source
        self._expected_dp_ranks = expected_dp_ranks
        self._clock = clock
        self._budget_ms = budget_ms
        self._clamp = clamp
        self._reading: asyncio.Task[None] | None = None
        self.started_ns = 0
        self._deliver: Deliver | None = None
        self._timer: TimerHandle | None = None

    @property
    def pulling(self) -> bool:
        """Whether a pull's outcome is still to be delivered."""
        return self._deliver is not None

    def pull(self, deliver: Deliver) -> None:
        """Read the complete rank set, once more if the set changed meanwhile, and deliver the outcome within the budget."""
        now_ns = self._clock.monotonic_ns()
        if self._reading is not None and not self._reading.done():
            running_ms = (now_ns - self.started_ns) // 1_000_000
            deliver(Attempt(error=f"the source has not answered an earlier read for {running_ms} ms"))
            return
        self.started_ns = now_ns
        self._deliver = deliver
        self._timer = self._clock.call_at(now_ns + self._budget_ms * 1_000_000, self._over_budget)
        self._reading = asyncio.get_running_loop().create_task(self._read_and_deliver(), name="loadmonitor-pull")

    def abort(self) -> None:
        """Cancel the read in flight; nothing is delivered any more."""
        self._finish()
        if self._reading is not None and not self._reading.cancelling():
            self._reading.cancel()

    async def ended(self, grace_seconds: float) -> None:
        """Wait for a cancelled read to end, and give it up when it doesn't within `grace_seconds`."""
        reading = self._reading
        if reading is not None:
            await asyncio.wait([reading], timeout=grace_seconds)
            reading.cancel()
            await asyncio.wait([reading], timeout=grace_seconds)

    def _finish(self) -> Deliver | None:
        deliver, self._deliver = self._deliver, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return deliver

    def _over_budget(self) -> None:
        deliver = self._finish()
        if deliver is not None and self._reading is not None:
            self._reading.cancel()
            deliver(Attempt(error=f"the source did not answer within {self._budget_ms} ms"))

    def _is_given_up(self) -> bool:
        # A source may clean up after its first cancellation.
        return self._deliver is None and self._reading is not None and self._reading.cancelling() > 1

    async def _read_and_deliver(self) -> None:
        attempt = await abandonable(self._read(), self._is_given_up)
        # The source has answered: what is delivered may start the next pull before this task has ended.
        self._reading = None
        deliver = self._finish()
        if deliver is not None:
            deliver(attempt)

    async def _read(self) -> Attempt:
        try:
            for _ in range(2):
                expected = self._expected_dp_ranks()
                answer: object = await self._source.get_loads()
                if not isinstance(answer, Sequence):
                    kind = type(answer).__name__
                    return Attempt(error=f"the source returned {kind!r} where a sequence of RankSnapshot is expected")
                # One more than expected shows that there are too many, however many an odd sequence would go on to give.
                loads = tuple(islice(answer, len(expected) + 1))
                if expected == self._expected_dp_ranks():
                    ranks, clamped = validate_ranks(loads, expected, clamp=self._clamp)
                    return Attempt(ranks, None if ranks else "the source has no ranks yet", clamped)
                if not self.pulling:
                    break  # nobody waits for a second read
        except SourceError as exc:
            return Attempt(error=text_of(exc))
        except SystemExit:
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever a source raises is its failure, never the reporter's
            return Attempt(error=f"the source failed with {type(exc).__name__}: {text_of(exc)}")
        return Attempt(error="the rank set changed during the read, and again during the retry")

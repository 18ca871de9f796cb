"""One bounded pull of the source a fire, whatever the source does: fail, hang, ignore cancellation, change its ranks."""

import asyncio
from collections.abc import Callable
from itertools import islice

from loadmonitor_worker._alarm import Alarm
from loadmonitor_worker._validate import validate_ranks
from loadmonitor_worker._verdict import Attempt
from loadmonitor_worker.errors import SourceError
from loadmonitor_worker.interfaces import Clock, LoadSnapshotSource
from loadmonitor_worker.snapshot import RankSnapshot


class Puller:
    """Reads a source within a budget, at most one read in flight.

    A read that outlives its budget is cancelled and left behind; until it has ended, every pull fails at once.
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
        self._reading: asyncio.Task[Attempt] | None = None
        self._started_ns = 0

    async def pull(self) -> Attempt:
        """Read the complete rank set once, once more if the set changed meanwhile, within one budget."""
        if self._reading is not None and not self._reading.done():
            running_ms = (self._clock.monotonic_ns() - self._started_ns) // 1_000_000
            return Attempt(error=f"the source has not answered an earlier read for {running_ms} ms")
        self._started_ns = self._clock.monotonic_ns()
        reading = self._reading = asyncio.get_running_loop().create_task(self._read(), name="loadmonitor-pull")
        over = Alarm(self._clock)
        reading.add_done_callback(lambda _: over.ring())
        try:
            await over.sleep_until(self._started_ns + self._budget_ms * 1_000_000)
        except asyncio.CancelledError:
            reading.cancel()
            raise
        if reading.done():
            return reading.result()
        reading.cancel()
        return Attempt(error=f"the source did not answer within {self._budget_ms} ms")

    async def _read(self) -> Attempt:
        try:
            for _ in range(2):
                expected = self._expected_dp_ranks()
                loads: tuple[RankSnapshot, ...] = tuple(
                    # One more than expected shows that there are too many, however many a generator would go on to give.
                    islice(await self._source.get_loads(), len(expected) + 1)
                )
                if expected == self._expected_dp_ranks():
                    ranks, clamped = validate_ranks(loads, expected, clamp=self._clamp)
                    return Attempt(ranks, None if ranks else "the source has no ranks yet", clamped)
        except SourceError as exc:
            return Attempt(error=str(exc))
        except SystemExit:
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever a source raises is its failure, never the reporter's
            return Attempt(error=f"the source failed with {type(exc).__name__}: {exc}")
        return Attempt(error="the rank set changed during the read, and again during the retry")

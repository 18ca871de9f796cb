"""One bounded pull a fire, whatever the source does."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from loadmonitor_worker import RankSnapshot, SourceError
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._verdict import Attempt
from loadmonitor_worker.testing import FakeSource, ManualClock, rank, settle


class PullerOnDemand(Puller):
    """A puller whose outcome can be awaited."""

    async def outcome(self) -> Attempt:
        delivered: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
        self.pull(delivered.set_result)
        return await delivered


def puller(
    source: FakeSource, clock: ManualClock, expected: Callable[[], frozenset[int]] | None = None
) -> PullerOnDemand:
    return PullerOnDemand(source, expected or source.expected_dp_ranks, clock, budget_ms=1_000, clamp=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def source(clock: ManualClock) -> FakeSource:
    return FakeSource(clock)


async def test_a_source_that_hangs_fails_at_the_budget_and_recovers_when_it_answers(
    source: FakeSource, clock: ManualClock
) -> None:
    reader = puller(source, clock)
    source.gate.clear()
    pulling = asyncio.create_task(reader.outcome())
    await clock.advance(999)
    assert not pulling.done()
    await clock.advance(1)
    assert (await pulling).error == "the source did not answer within 1000 ms"
    source.gate.set()
    assert (await reader.outcome()).error is None
    assert clock.pending == []


class Stubborn(FakeSource):
    """Ignores cancellation until its gate opens."""

    async def get_loads(self) -> Sequence[RankSnapshot]:
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue
        return await super().get_loads()


async def test_a_source_that_ignores_cancellation_is_never_read_twice_at_once(clock: ManualClock) -> None:
    source = Stubborn(clock)
    reader = puller(source, clock)
    source.gate.clear()
    pulling = asyncio.create_task(reader.outcome())
    await clock.advance(1_000)
    assert (await pulling).error is not None
    await clock.advance(500)
    assert (await reader.outcome()).error == "the source has not answered an earlier read for 1500 ms"
    assert source.pulls == 0
    source.gate.set()
    await settle()
    assert (await reader.outcome()).error is None


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
async def test_whatever_a_source_raises_is_a_failed_attempt(
    source: FakeSource, clock: ManualClock, error: BaseException
) -> None:
    source.error = error
    attempt = await puller(source, clock).outcome()
    assert attempt.error is not None
    assert type(error).__name__ in attempt.error


class WordlessError(Exception):
    """Can't be turned into text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class WordlessSourceError(WordlessError, SourceError):
    """The same, of the kind whose text alone becomes the report's."""


@pytest.mark.parametrize(
    ("error", "named"), [(WordlessError(), "WordlessError"), (WordlessSourceError(), "str() of WordlessSourceError")]
)
async def test_an_error_that_has_no_text_is_a_failed_attempt_at_once(
    source: FakeSource, clock: ManualClock, error: Exception, named: str
) -> None:
    source.error = error
    delivered: list[Attempt] = []
    puller(source, clock).pull(delivered.append)
    await settle()
    [attempt] = delivered
    assert attempt.error is not None
    assert named in attempt.error


async def test_a_rank_set_that_changed_during_the_read_is_read_once_more(
    source: FakeSource, clock: ManualClock
) -> None:
    sets = iter([frozenset({0}), frozenset({0, 1}), frozenset({0, 1}), frozenset({0, 1})])
    source.ranks = [rank(0), rank(1)]
    attempt = await puller(source, clock, lambda: next(sets)).outcome()
    assert [item.dp_rank for item in attempt.ranks] == [0, 1]
    assert source.pulls == 2


async def test_a_rank_set_that_changes_again_during_the_retry_fails(source: FakeSource, clock: ManualClock) -> None:
    sets = iter([frozenset({0}), frozenset({1}), frozenset({2}), frozenset({3})])
    attempt = await puller(source, clock, lambda: next(sets)).outcome()
    assert attempt == Attempt(error="the rank set changed during the read, and again during the retry")
    assert source.pulls == 2


async def test_the_retry_shares_the_budget(source: FakeSource, clock: ManualClock) -> None:
    sets = [frozenset({1}), frozenset({0})]

    def expected() -> frozenset[int]:
        if len(sets) == 1:
            source.gate.clear()
        return sets.pop() if sets else frozenset({1})

    source.gate.clear()
    pulling = asyncio.create_task(puller(source, clock, expected).outcome())
    await clock.advance(900)
    source.gate.set()
    await settle()
    assert source.pulls == 2
    await clock.advance(99)
    assert not pulling.done()
    await clock.advance(1)
    assert (await pulling).error == "the source did not answer within 1000 ms"


async def test_a_read_whose_pull_is_over_is_not_repeated_when_the_rank_set_changed(clock: ManualClock) -> None:
    source = Stubborn(clock)
    source.gate.clear()
    reader = puller(source, clock)
    reader.pull(lambda _: None)
    await clock.advance(1_000)
    source.expected = frozenset({0, 1})
    source.gate.set()
    await settle()
    assert source.pulls == 1


async def test_a_source_without_ranks_is_a_failed_attempt(source: FakeSource, clock: ManualClock) -> None:
    source.ranks = []
    source.expected = frozenset()
    assert (await puller(source, clock).outcome()).error == "the source has no ranks yet"


class Answering(FakeSource):
    """Answers with whatever it was given."""

    answer: Any = None

    async def get_loads(self) -> Sequence[RankSnapshot]:
        return cast("Sequence[RankSnapshot]", self.answer)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ((item for item in [rank()]), "'generator'"),
        ({0: rank()}, "'dict'"),
        ({rank()}, "'set'"),
        (None, "'NoneType'"),
        (rank(), "'RankSnapshot'"),
    ],
)
async def test_an_answer_that_is_no_sequence_is_refused_by_its_type(
    clock: ManualClock, answer: object, named: str
) -> None:
    source = Answering(clock)
    source.answer = answer
    attempt = await puller(source, clock).outcome()
    assert attempt.error == f"the source returned {named} where a sequence of RankSnapshot is expected"


async def test_an_endless_answer_is_refused(clock: ManualClock) -> None:
    class Endless(Sequence[RankSnapshot]):
        def __getitem__(self, index: Any) -> Any:
            return rank(index)

        def __len__(self) -> int:
            return 1

    source = Answering(clock)
    source.answer = Endless()
    attempt = await puller(source, clock).outcome()
    assert attempt.error == "rank 1 is not one of the one expected rank, 0"


async def test_an_aborted_pull_cancels_the_read_and_delivers_nothing(source: FakeSource, clock: ManualClock) -> None:
    reader = puller(source, clock)
    source.gate.clear()
    delivered: list[Attempt] = []
    reader.pull(delivered.append)
    await settle()
    reader.abort()
    await settle()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "loadmonitor-pull"]
    assert clock.pending == []
    assert delivered == []


async def test_a_read_that_ignores_cancellation_is_given_up(clock: ManualClock) -> None:
    source = Stubborn(clock)
    source.gate.clear()
    reader = puller(source, clock)
    delivered: list[Attempt] = []
    reader.pull(delivered.append)
    await settle()
    reader.abort()
    await reader.ended(grace_seconds=0.01)
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "loadmonitor-pull"]
    assert delivered == []


@pytest.mark.parametrize("passes_ms", [0, 1_000])
async def test_a_cancelled_read_may_clean_up_first(clock: ManualClock, passes_ms: int) -> None:
    cleaning = asyncio.Event()
    cleaned = asyncio.Event()

    class Tidy(FakeSource):
        async def get_loads(self) -> Sequence[RankSnapshot]:
            try:
                return await super().get_loads()
            finally:
                await cleaning.wait()
                cleaned.set()

    source = Tidy(clock)
    source.gate.clear()
    reader = puller(source, clock)
    reader.pull(lambda _: None)
    await clock.advance(passes_ms)
    reader.abort()
    await settle()
    cleaning.set()
    await reader.ended(grace_seconds=5)
    assert cleaned.is_set()


async def test_a_read_that_nobody_cancels_may_wait_fail_and_time_out_within_itself(clock: ManualClock) -> None:
    class Intricate(FakeSource):
        async def get_loads(self) -> Sequence[RankSnapshot]:
            await asyncio.sleep(0)
            with contextlib.suppress(RuntimeError):
                await asyncio.gather(self._fail())
            forgotten = asyncio.get_running_loop().create_future()
            for _ in range(3):
                forgotten.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await forgotten
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0), asyncio.timeout(0):
                    await asyncio.Event().wait()
            return await super().get_loads()

        async def _fail(self) -> None:
            raise RuntimeError

    assert (await puller(Intricate(clock), clock).outcome()).error is None

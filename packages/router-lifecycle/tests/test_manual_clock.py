"""The clock that passes when a test says so."""

import asyncio

import pytest

from router_lifecycle.testing import ManualClock


async def test_a_sleeper_wakes_when_the_clock_has_come_that_far() -> None:
    clock = ManualClock(10.0)
    sleeper = asyncio.create_task(clock.sleep(2))
    await asyncio.sleep(0)
    clock.advance(1.9)
    await asyncio.sleep(0)
    assert not sleeper.done()
    clock.advance(0.1)
    await sleeper
    assert clock() == pytest.approx(12)


async def test_run_passes_the_time_that_everyone_waits_for_in_order() -> None:
    clock, seen = ManualClock(), []

    async def tick(name: str, every_seconds: float, times: int) -> None:
        for _ in range(times):
            await clock.sleep(every_seconds)
            seen.append((name, clock()))

    beside = asyncio.create_task(tick("a", 2, 3))
    await clock.run(tick("b", 3, 2))
    await beside
    assert seen == [("a", 2), ("b", 3), ("a", 4), ("b", 6), ("a", 6)]


async def test_run_returns_raises_and_passes_no_time_without_need() -> None:
    clock = ManualClock()

    async def answer() -> int:
        for _ in range(500):
            await asyncio.sleep(0)
            clock()
        return 42

    async def fail() -> None:
        raise LookupError

    late = asyncio.create_task(clock.sleep(5))
    assert await clock.run(answer()) == 42
    assert clock() == 0
    with pytest.raises(LookupError):
        await clock.run(fail())
    late.cancel()
    await asyncio.wait({late})
    # A sleeper that was cancelled is nobody's next moment.
    assert await clock.run(asyncio.sleep(0.01, "real")) == "real"
    assert clock() == 0


async def test_who_stops_waiting_for_run_stops_what_it_ran() -> None:
    clock = ManualClock()
    never = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(clock.run(never))
    await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait({running})
    assert never.cancelled()


async def test_no_time_is_to_be_waited_for_no_time_and_none_goes_back() -> None:
    clock = ManualClock()
    await clock.sleep(0)
    await clock.sleep(-1)
    assert clock() == 0
    with pytest.raises(ValueError, match="can't be advanced by -1 s"):
        clock.advance(-1)


async def test_a_cancelled_run_leaves_nothing_running() -> None:
    clock = ManualClock()
    cleaned = []

    async def clean_up_slowly() -> None:
        try:
            await clock.sleep(10.0)
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            cleaned.append(True)

    running = asyncio.ensure_future(clock.run(clean_up_slowly()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cleaned == [True]
    assert asyncio.all_tasks() == {asyncio.current_task()}

"""The manual clocks of both packages are one: one name, one behaviour."""

import asyncio
import inspect
from collections.abc import Callable

import pytest

from loadmonitor_router.testing import ManualClock as RouterClock
from loadmonitor_worker.testing import ManualClock as WorkerClock

Clock = RouterClock | WorkerClock
MS = 1_000_000
both = pytest.mark.parametrize("make", [RouterClock, WorkerClock], ids=["router", "worker"])


def test_they_have_the_same_names_with_the_same_parameters() -> None:
    def face(clock: type) -> dict[str, str]:
        public = {name: value for name, value in vars(clock).items() if not name.startswith("_") or name == "__init__"}
        return {name: str(inspect.signature(value)) if callable(value) else "" for name, value in public.items()}

    assert face(RouterClock).keys() == face(WorkerClock).keys()
    for name, signature in face(RouterClock).items():
        assert face(WorkerClock)[name] == signature.replace("loadmonitor_router", "loadmonitor_worker"), name


@both
async def test_move_runs_each_timer_at_its_time_and_no_task(make: Callable[[], Clock]) -> None:
    clock = make()
    ran: list[int] = []
    woken = asyncio.Event()

    def chain() -> None:
        ran.append(clock.monotonic_ns())
        woken.set()
        if len(ran) < 3:
            clock.call_at(clock.monotonic_ns() + 10 * MS, chain)

    async def wait() -> None:
        await woken.wait()
        ran.append(-1)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    clock.call_at(10 * MS, chain)
    clock.call_at(5 * MS, chain).cancel()
    assert clock.pending == [10 * MS]
    clock.move(25)
    assert ran == [10 * MS, 20 * MS]
    assert clock.monotonic_ns() == 25 * MS
    await task
    assert ran[-1] == -1


@both
async def test_advance_lets_tasks_run_at_the_time_of_the_timer_that_woke_them(make: Callable[[], Clock]) -> None:
    clock = make()
    seen: list[int] = []

    async def every_ten() -> None:
        while True:
            woken = asyncio.Event()
            clock.call_at(clock.monotonic_ns() + 10 * MS, woken.set)
            await woken.wait()
            seen.append(clock.monotonic_ns())

    task = asyncio.create_task(every_ten())
    await clock.advance(35)
    assert seen == [10 * MS, 20 * MS, 30 * MS]
    assert clock.pending == [40 * MS]
    task.cancel()


@both
async def test_a_stall_makes_every_timer_late(make: Callable[[], Clock]) -> None:
    clock = make()
    seen: list[int] = []
    for when_ms in (20, 10):
        clock.call_at(when_ms * MS, lambda when_ms=when_ms: seen.extend([when_ms, clock.monotonic_ns()]))  # type: ignore[misc]
    await clock.stall(50)
    assert seen == [10, 50 * MS, 20, 50 * MS]


@both
async def test_a_timer_in_the_past_runs_soon_and_never_within_the_call(make: Callable[[], Clock]) -> None:
    clock = make()
    ran = asyncio.Event()
    clock.call_at(clock.monotonic_ns(), ran.set)
    assert not ran.is_set()
    await asyncio.wait_for(ran.wait(), 10)


@both
async def test_a_timer_that_is_set_can_be_waited_for(make: Callable[[], Clock]) -> None:
    clock = make()
    clock.call_at(90 * MS, lambda: None)
    waiting = asyncio.create_task(clock.timer_within(50))
    await asyncio.sleep(0)
    clock.move(30)
    assert not waiting.done()
    clock.call_at(70 * MS, lambda: None)
    assert await waiting == 40


@both
def test_the_wall_clock_follows_and_can_be_stepped_alone(make: Callable[[], Clock]) -> None:
    clock = make()
    before_ms, before_ns = clock.unix_ms(), clock.monotonic_ns()
    clock.wall_offset_ms -= 500
    clock.move(20)
    assert (clock.unix_ms() - before_ms, clock.monotonic_ns() - before_ns) == (-480, 20 * MS)

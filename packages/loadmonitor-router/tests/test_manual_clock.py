"""The clock that the package ships for tests."""

import asyncio

from loadmonitor_router import Clock
from loadmonitor_router._clock import SystemClock
from loadmonitor_router.testing import ManualClock


def test_timers_run_in_order_at_their_own_time_and_only_once() -> None:
    clock = ManualClock(monotonic_ms=0)
    ran: list[tuple[str, int]] = []

    def note(name: str) -> None:
        ran.append((name, clock.monotonic_ns()))

    clock.call_at(20, lambda: note("late"))
    clock.call_at(10, lambda: note("early"))
    clock.call_at(15, lambda: note("cancelled")).cancel()
    clock.move(1)
    clock.move(1)
    assert ran == [("early", 10), ("late", 20)]
    assert clock.monotonic_ns() == 2_000_000


async def test_a_timer_in_the_past_runs_soon() -> None:
    ran = asyncio.Event()
    clock: Clock = ManualClock()
    clock.call_at(clock.monotonic_ns(), ran.set)
    assert not ran.is_set()
    await ran.wait()


def test_the_wall_clock_follows_and_may_be_stepped() -> None:
    clock = ManualClock(unix_ms=1_000)
    clock.move(5)
    assert clock.unix_ms() == 1_005
    before = clock.monotonic_ns()
    clock.wall_offset_ms += -500
    assert (clock.unix_ms(), clock.monotonic_ns()) == (505, before)


async def test_the_machines_clock_runs_a_timer_at_its_time() -> None:
    clock: Clock = SystemClock()
    ran = asyncio.Event()
    when_ns = clock.monotonic_ns() + 2_000_000
    clock.call_at(when_ns, ran.set)
    await ran.wait()
    assert clock.monotonic_ns() >= when_ns - 1_000_000
    assert clock.unix_ms() > 1_700_000_000_000

"""The course of the demonstration, and what must have been seen at its end."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from loadmonitor_router.age import Freshness
from loadmonitor_router.cli._fleet import Worker
from loadmonitor_router.cli._follow import Watch
from loadmonitor_router.cli._output import make_output
from loadmonitor_router.cli._record import Record, Seen
from loadmonitor_router.cli._workers import named
from loadmonitor_router.discovery import StaticDiscovery

_INTERVAL_MS = 1_000
_LEASE_TTL_MS = 5_000
_STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 1, signal.SIGHUP: 1}
"""Exit codes of a demonstration that didn't come to its end."""


async def run_show(*, is_terminal: bool) -> int:
    """Hold the demonstration and return its exit code; whatever ends it early, its processes and files go with it.

    Raises:
        DemoError: The workers can't be started here.
    """
    this = asyncio.current_task()
    assert this is not None
    stopped: list[int] = []

    def stop(code: int) -> None:
        stopped.append(code)
        this.cancel()

    loop = asyncio.get_running_loop()
    for number, code in _STOPPED.items():
        loop.add_signal_handler(number, stop, code)
    try:
        return await _hold(is_terminal=is_terminal)
    except asyncio.CancelledError:
        if not stopped:
            raise
        return stopped[0]


async def _hold(*, is_terminal: bool) -> int:
    async with _fleet() as fleet:
        for worker in fleet:
            _say(f"worker at {worker.address}: {worker.description}")
        addresses = [worker.address for worker in fleet]
        record = Record(
            make_output(as_json=False, is_terminal=is_terminal, live=True, width=max(map(len, addresses)), brief=True)
        )
        watch = Watch(
            StaticDiscovery(named(addresses)), record, report_interval_ms=_INTERVAL_MS, lease_ttl_ms=_LEASE_TTL_MS
        )
        playing = asyncio.create_task(_play(fleet, watch))
        code = await watch.forever()
        if not playing.done():
            playing.cancel()
            await asyncio.wait([playing])
            return code or _STOPPED[signal.SIGTERM]
        playing.result()
    return _tell([(worker.address, record.seen.get(worker.address, Seen())) for worker in fleet])


@asynccontextmanager
async def _fleet() -> AsyncIterator[list[Worker]]:
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loadmonitor-demo-")))
        fleet = [
            Worker(directory, number=1, dp_size=2, worker_type="prefill"),
            Worker(directory, number=2, dp_size=4, worker_type="decode"),
            Worker(directory, number=3, dp_size=1, worker_type="decode"),
        ]
        for worker in fleet:
            await stack.enter_async_context(worker)
        yield fleet


async def _play(fleet: list[Worker], watch: Watch) -> None:
    """Let things happen; the last is that the watch ends."""
    _, second, third = fleet
    try:
        await asyncio.sleep(4)
        _say(f"the engine behind {second.address} freezes")
        second.freeze()
        await asyncio.sleep(4)
        _say(f"the engine behind {second.address} goes on")
        second.thaw()
        await asyncio.sleep(1)
        _say(f"the worker at {third.address} dies, engine and sidecar")
        await third.kill()
        await asyncio.sleep(2)
        _say(f"the worker at {third.address} starts again")
        await third.start()
        await asyncio.sleep(4)
    finally:
        watch.stop(0)


def _tell(fleet: list[tuple[str, Seen]]) -> int:
    """Print what was seen of each worker and what should have been; return the exit code."""
    _say("what was seen")
    for address, seen in fleet:
        reports = ", ".join(
            f"{number} {status.removeprefix('REPORT_STATUS_')}" for status, number in seen.reports.items()
        )
        verdicts = " > ".join(seen.verdicts)
        _say(f"  {address}  reports: {reports}; verdicts: {verdicts}; reporter instances: {len(seen.instances)}")
    (_, first), (_, second), (third_address, third) = fleet
    expected = {
        "load shifted on every worker": all(len(seen.running) > 1 for _, seen in fleet),
        "the worker that nothing happened to was fresh throughout": first.verdicts == [Freshness.FRESH],
        "a frozen engine became STALE, and fresh again": _in_order(second.verdicts, Freshness.STALE, Freshness.FRESH),
        f"{third_address} was lost and came back as a new instance": third.losses > 0 and len(third.instances) == 2,
    }
    for what, happened in expected.items():
        _say(f"{'seen    ' if happened else 'NOT SEEN'}  {what}")
    return 0 if all(expected.values()) else 1


def _in_order(verdicts: list[Freshness], *wanted: Freshness) -> bool:
    remaining = iter(verdicts)
    return all(verdict in remaining for verdict in wanted)


def _say(text: str) -> None:
    # By way of sys.stdout, which the live table redirects above itself.
    sys.stdout.write(f"-- {text}\n")
    sys.stdout.flush()

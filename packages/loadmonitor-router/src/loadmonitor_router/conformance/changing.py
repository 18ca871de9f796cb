"""The clauses CHANGE: other terms on a stream that is registered, and when reports are due."""

import asyncio
from collections.abc import Callable

from loadmonitor_proto import LoadReport, RouterFrame
from loadmonitor_router.conformance.frames import DAY_MS, LONG_LEASE_MS, describe, register, update
from loadmonitor_router.conformance.pace import GRANTED_PACE_MS, at_least
from loadmonitor_router.conformance.results import Deviation, check
from loadmonitor_router.conformance.stream import RouterStream
from loadmonitor_router.conformance.trial import QUIET_SECONDS, Trial

_FIRST_LEASE_MS = 800
_OUTLIVED_MS = 1_200

Change = Callable[[str, int, int], RouterFrame]
"""Makes a frame that changes a router's interval and lease."""

_CHANGES: dict[str, Change] = {
    "update_config": lambda _, interval_ms, lease_ms: update(interval_ms=interval_ms, lease_ms=lease_ms),
    "a repeated register": lambda name, interval_ms, lease_ms: register(
        name, interval_ms=interval_ms, lease_ms=lease_ms
    ),
}


@check("CHANGE-1", expects="another interval and lease by update_config and by a repeated register, without a word")
async def new_terms(trial: Trial) -> str:
    """Listens for an answer to changes that bring no report nearer, then shortens the interval and waits for reports; lengthens a lease of 0.8 s and outlives it; asks for 1 ms and counts the reports."""
    for name, change in _CHANGES.items():
        session = await trial.registered()
        await session.stream.report()
        await session.stream.send(change(session.router_id, DAY_MS, LONG_LEASE_MS + 1))
        for frame in await session.stream.arriving(QUIET_SECONDS):
            raise Deviation(f"{describe(frame)} after {name} that changed the lease")
        await session.stream.send(change(session.router_id, trial.short_ms, LONG_LEASE_MS))
        for _ in range(2):
            await _report_after(session.stream, f"{name} with an interval of {trial.short_ms} ms")
        if trial.known.min_interval_ms in GRANTED_PACE_MS:
            await session.stream.send(change(session.router_id, 1, LONG_LEASE_MS))
            await at_least(session.stream, trial.known.min_interval_ms)
        await trial.hang_up()

    async def outlive() -> str:
        sessions = {
            name: await trial.registered(interval_ms=trial.short_ms, lease_ms=_FIRST_LEASE_MS) for name in _CHANGES
        }
        for name, session in sessions.items():
            await session.stream.send(_CHANGES[name](session.router_id, trial.short_ms, LONG_LEASE_MS))
        for name, session in sessions.items():
            first = await session.stream.report()
            age_ms = 0
            while age_ms < _OUTLIVED_MS:  # by the Worker's own clock, so that no delay looks like a long life
                report = await _report_after(session.stream, f"{name} with a lease of {LONG_LEASE_MS} ms")
                age_ms = report.report_time_unix_ms - first.report_time_unix_ms
        return ""

    await trial.best_of_three(outlive)
    return f"interval and lease changed by {' and by '.join(_CHANGES)}, without an answer or an extra report"


@check("CHANGE-2", expects="the error INVALID_ARGUMENT for a change with a value out of range")
async def bad_changes(trial: Trial) -> str:
    """Sends `update_config` with an interval and a lease of zero and below, and repeats `register` with each of these and with another id, each on a stream of its own."""
    bad: dict[str, Callable[[str], RouterFrame]] = {
        "update_config with report_interval_ms=0": lambda _: update(interval_ms=0),
        "update_config with report_interval_ms=-5": lambda _: update(interval_ms=-5),
        "update_config with lease_ttl_ms=0": lambda _: update(lease_ms=0),
        "update_config with lease_ttl_ms=-1": lambda _: update(lease_ms=-1),
        "register with report_interval_ms=0": lambda name: register(name, interval_ms=0),
        "register with lease_ttl_ms=-1": lambda name: register(name, lease_ms=-1),
        "register with another router_id": lambda _: register(trial.router_id()),
    }
    for name, make in bad.items():
        session = await trial.registered()
        await session.stream.send(make(session.router_id))
        await session.stream.refusal("INVALID_ARGUMENT", name)
    return f"INVALID_ARGUMENT for {', '.join(bad)}"


@check("CHANGE-3", expects="a report at once, and then one at each multiple of the interval after one anchor")
async def deadlines(trial: Trial) -> str:
    """Registers for an interval of a day and changes it to a second when 0.4 s are over: the next report is due a second after the first, unless all sessions share their deadlines; then counts reports. That missed deadlines are skipped shows only where the Worker is late."""
    interval_ms = max(1_000, trial.known.min_interval_ms)

    async def keeps_anchor() -> str:
        session = await trial.registered()
        first = await session.stream.report()
        await asyncio.sleep(0.4 * interval_ms / 1_000)
        await session.stream.send(update(interval_ms=interval_ms))
        second = await session.stream.report(trial.timeout_seconds + interval_ms / 1_000)
        apart_ms = second.report_time_unix_ms - first.report_time_unix_ms
        off_ms = (apart_ms + interval_ms // 2) % interval_ms - interval_ms // 2
        if abs(off_ms) < 0.2 * interval_ms:
            return f"report 2 came {apart_ms} ms after the first, at {interval_ms} ms"
        await asyncio.sleep(0.5 * interval_ms / 1_000)
        if await _is_shared(trial, session.stream, interval_ms):
            return "deadlines that all sessions share"
        raise Deviation(f"a report {apart_ms} ms after the first, at an interval of {interval_ms} ms after a day's")

    received = await trial.best_of_three(keeps_anchor)
    steady = await trial.registered(interval_ms=trial.short_ms)
    await at_least(steady.stream, trial.short_ms)
    return received


async def _is_shared(trial: Trial, stream: RouterStream, interval_ms: int) -> bool:
    """Tell whether a session that is registered now gets the reports of one that was registered at another phase."""
    other = (await trial.registered(interval_ms=interval_ms)).stream
    await other.report()
    seconds = trial.timeout_seconds + interval_ms / 1_000

    async def next_two(of: RouterStream) -> set[int]:
        reports: list[LoadReport] = [await of.report(seconds) for _ in range(2)]
        return {report.sequence_id for report in reports}

    ours, theirs = await asyncio.gather(next_two(stream), next_two(other))
    return bool(ours & theirs)


async def _report_after(stream: RouterStream, what: str) -> LoadReport:
    try:
        return await stream.report()
    except Deviation as deviation:
        raise Deviation(f"{deviation} after {what}") from None

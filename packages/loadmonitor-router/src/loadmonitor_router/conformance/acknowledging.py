"""The clauses ACK: a Router that acknowledges is never sent more than it has room for."""

import asyncio

from loadmonitor_router.conformance.frames import describe, keep_alive
from loadmonitor_router.conformance.results import Deviation, check
from loadmonitor_router.conformance.trial import QUIET_SECONDS, Trial

_WINDOW = 2
_INTERVAL_MS = 500


@check("ACK-1", expects="no more reports than the window beyond the newest acknowledged one", is_extension=True)
async def window(trial: Trial) -> str:
    """Registers for a window of two, takes two reports and listens; acknowledges the second, which makes room for two more, and listens again."""
    session = await trial.registered(interval_ms=trial.short_ms, window=_WINDOW)
    for round_ in ("without an acknowledgement", "after one for both"):
        for _ in range(_WINDOW):
            newest = await session.stream.report()
        for frame in await session.stream.arriving(QUIET_SECONDS + 3 * trial.short_ms / 1_000):
            raise Deviation(f"{describe(frame)} beyond a window of {_WINDOW}, {round_}")
        await session.stream.send(keep_alive(newest.sequence_id))
    await session.stream.report()
    return f"{_WINDOW} reports, {_WINDOW} more after an acknowledgement of both, none beyond"


@check("ACK-2", expects="after a deadline without credit, a report built at the next one", is_extension=True)
async def skipped_deadline(trial: Trial) -> str:
    """Registers for a window of one, leaves a report unacknowledged over a deadline and acknowledges it 0.4 intervals later: the next report must be newer than all that were built before, and due at the following deadline."""
    interval_ms = max(_INTERVAL_MS, trial.known.min_interval_ms, min(8 * trial.short_ms, 4 * _INTERVAL_MS))
    seconds = trial.timeout_seconds + interval_ms / 1_000

    async def skip() -> str:
        session = await trial.registered(interval_ms=interval_ms, window=1)
        witness = await trial.registered(interval_ms=trial.short_ms)
        await session.stream.send(keep_alive((await session.stream.report()).sequence_id))
        at_deadline = await session.stream.report(seconds)
        await asyncio.sleep(1.4 * interval_ms / 1_000)
        witness.stream.arrived()
        built_before = await witness.stream.report()
        await session.stream.send(keep_alive(at_deadline.sequence_id))
        after = await session.stream.report(seconds)
        built_since = after.sequence_id - built_before.sequence_id
        if built_since * trial.short_ms < 0.3 * interval_ms:
            raise Deviation(
                f"report {after.sequence_id} after an acknowledgement that was sent when report {built_before.sequence_id} had "
                f"been built, with a report each {trial.short_ms} ms for another session"
            )
        apart_ms = after.report_time_unix_ms - at_deadline.report_time_unix_ms
        if apart_ms < 1.7 * interval_ms:
            raise Deviation(
                f"a report {apart_ms} ms after the one before, at an interval of {interval_ms} ms: no deadline"
            )
        return f"one deadline of {interval_ms} ms skipped, the next report {apart_ms} ms after the one before"

    return await trial.best_of_three(skip)


@check("ACK-3", expects="the error INVALID_ARGUMENT for an acknowledgement of what was not sent", is_extension=True)
async def unsent(trial: Trial) -> str:
    """Takes the first report and acknowledges the one after it."""
    session = await trial.registered(window=1)
    report = await session.stream.report()
    await session.stream.send(keep_alive(report.sequence_id + 1))
    await session.stream.refusal("INVALID_ARGUMENT", f"an acknowledgement of {report.sequence_id + 1}")
    return f"INVALID_ARGUMENT for {report.sequence_id + 1}, report {report.sequence_id} being the newest"

"""The clauses LEASE: how long a silent Router is served."""

import asyncio
import time

from loadmonitor_router.conformance.frames import describe, keep_alive, register, stop, update
from loadmonitor_router.conformance.results import Deviation, check
from loadmonitor_router.conformance.trial import QUIET_SECONDS, Trial

_RENEWED_LEASE_MS = 1_000
_PAUSE = 0.75  # of a lease, between frames that renew it
_SHORT_LEASE_MS = 600
_CLOCKS_DIFFER_MS = 100


@check("LEASE-1", expects="a lease that every valid frame renews in full")
async def renewal(trial: Trial) -> str:
    """Keeps a lease of 1 s by a frame each 0.75 s, `keep_alive`, `update_config` and `register` in turn, then falls silent and measures that the Worker waits for at least the lease."""

    async def renew() -> str:
        session = await trial.registered(interval_ms=trial.short_ms, lease_ms=_RENEWED_LEASE_MS)
        frames = {
            "keep_alive": keep_alive(),
            "update_config": update(),
            "register": register(session.router_id, interval_ms=trial.short_ms, lease_ms=_RENEWED_LEASE_MS),
        }
        for name, renewing in frames.items():
            await asyncio.sleep(_PAUSE * _RENEWED_LEASE_MS / 1_000)
            for arrived in session.stream.arrived():
                if not arrived.HasField("report"):
                    raise Deviation(f"{describe(arrived)} before the {name} that would have renewed the lease again")
            sent_at = time.monotonic()
            await session.stream.send(renewing)
        await asyncio.sleep(_PAUSE * _RENEWED_LEASE_MS / 1_000)
        while (frame := await session.stream.receive()) is not None and frame.HasField("report"):
            if time.monotonic() - sent_at > trial.timeout_seconds + _RENEWED_LEASE_MS / 1_000:
                return "the lease was renewed by every frame, and went on"
        lived_ms = (session.stream.received_at - sent_at) * 1_000
        if lived_ms < _RENEWED_LEASE_MS:
            raise Deviation(f"the end {lived_ms:.0f} ms after a frame that renewed a lease of {_RENEWED_LEASE_MS} ms")
        return f"the lease was renewed by every frame, and ended {lived_ms:.0f} ms after the last"

    return await trial.best_of_three(renew)


@check("LEASE-2", expects="the error LEASE_EXPIRED for a silent Router, and no report after the lease")
async def expiry(trial: Trial) -> str:
    """Registers for 0.6 s and falls silent, while reports come; that frames count which lay unread while the Worker stood still doesn't show from here."""
    session = await trial.registered(interval_ms=trial.short_ms, lease_ms=_SHORT_LEASE_MS)
    first = await session.stream.report()
    latest_ms = first.report_time_unix_ms + _SHORT_LEASE_MS + _CLOCKS_DIFFER_MS
    until = time.monotonic() + trial.timeout_seconds + _SHORT_LEASE_MS / 1_000
    while (frame := await session.stream.receive()) is not None and frame.HasField("report"):
        late_ms = frame.report.report_time_unix_ms - first.report_time_unix_ms
        if frame.report.report_time_unix_ms > latest_ms:
            raise Deviation(f"a report built {late_ms} ms after the first, with a lease of {_SHORT_LEASE_MS} ms")
        if time.monotonic() > until:
            raise Deviation(f"reports still, {trial.timeout_seconds:g} s after the end of the lease")
    if frame is None or frame.error.code != "LEASE_EXPIRED":
        raise Deviation(f"{'the end of the stream' if frame is None else describe(frame)}, not LEASE_EXPIRED")
    return f"{describe(frame)}, {(session.stream.received_at - session.stream.opened_at) * 1_000:.0f} ms after dialling"


@check("LEASE-3", expects="no report brought forward by a keep_alive")
async def no_report_for_keep_alive(trial: Trial) -> str:
    """Registers for a report a day, takes the first, sends five `keep_alive` and listens."""
    session = await trial.registered()
    await session.stream.report()
    for _ in range(5):
        await session.stream.send(keep_alive())
    for frame in await session.stream.arriving(QUIET_SECONDS):
        raise Deviation(f"{describe(frame)} after a keep_alive, the next report being due in a day")
    return f"nothing for {QUIET_SECONDS * 1_000:.0f} ms after five keep_alive"


@check("LEASE-4", expects="the end of the stream with status OK and no error, after stop")
async def stopping(trial: Trial) -> str:
    """Registers, takes two reports, sends `stop` and reads to the end."""
    session = await trial.registered(interval_ms=trial.short_ms)
    for _ in range(2):
        await session.stream.report()
    await session.stream.send(stop())
    frames, status = await session.stream.ending()
    if status.name != "OK":
        raise Deviation(f"status {status.name} after stop")
    for frame in frames:
        if not frame.HasField("report"):
            raise Deviation(f"{describe(frame)} after stop")
    return "status OK after stop"

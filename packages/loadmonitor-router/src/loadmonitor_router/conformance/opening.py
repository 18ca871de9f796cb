"""The clauses OPEN: registration, limits and replacement."""

from loadmonitor_proto import RegisterResponse, WorkerFrame
from loadmonitor_router.conformance.frames import describe, keep_alive, register, stop, update
from loadmonitor_router.conformance.pace import GRANTED_PACE_MS, at_least
from loadmonitor_router.conformance.results import Deviation, NotOffered, check
from loadmonitor_router.conformance.stream import RouterStream
from loadmonitor_router.conformance.trial import QUIET_SECONDS, Registered, Trial, extensions_missing, extensions_told

_SESSIONS = 32
_FRAMES = 2_500
_INT64_MAX = 2**63 - 1


@check(
    "OPEN-1", expects="the error INVALID_FIRST_FRAME for any other first frame than register", needs_registration=False
)
async def first_frame(trial: Trial) -> str:
    """Begins a stream with `keep_alive`, one with `update_config` and one with `stop`."""
    for frame in (keep_alive(), update(lease_ms=5_000), stop()):
        stream = trial.open()
        await stream.send(frame)
        await stream.refusal("INVALID_FIRST_FRAME", f"{frame.WhichOneof('payload')} as the first frame")
    return "INVALID_FIRST_FRAME for keep_alive, update_config and stop"


@check(
    "OPEN-2", expects="the error INVALID_ARGUMENT for a register with a value out of range", needs_registration=False
)
async def register_values(trial: Trial) -> str:
    """Registers with a blank id, and with an interval and a lease of zero and below; where the Worker knows the extensions, also with 257 characters and with a window of zero."""
    bad = {
        "an empty router_id": register(""),
        "a blank router_id": register(" \t"),
        "report_interval_ms=0": register(trial.router_id(), interval_ms=0),
        "report_interval_ms=-5": register(trial.router_id(), interval_ms=-5),
        "lease_ttl_ms=0": register(trial.router_id(), lease_ms=0),
        "lease_ttl_ms=-1": register(trial.router_id(), lease_ms=-1),
    }
    if trial.known.is_extended:
        bad["a router_id of 257 characters"] = register("r" * 257)
        bad["max_unacked_reports=0"] = register(trial.router_id(), window=0)
    for name, frame in bad.items():
        stream = trial.open()
        await stream.send(frame)
        await stream.refusal("INVALID_ARGUMENT", f"a register with {name}")
    return f"INVALID_ARGUMENT for {', '.join(bad)}"


@check("OPEN-3", expects="registered as the first frame, and no second one", needs_registration=False)
async def acknowledged_once(trial: Trial) -> str:
    """Registers, repeats the `register`, and looks at every frame until three more reports have come."""
    session = await trial.registered(interval_ms=trial.short_ms)
    again = register(session.router_id, interval_ms=trial.short_ms)
    await session.stream.send(again)
    for _ in range(4):
        await session.stream.report()
    return "registered, then reports only"


@check("OPEN-4", expects="granted lease, renew_after_ms = max(1, lease // 3), and the five optional fields")
async def acknowledgement(trial: Trial) -> str:
    """Registers for a lease of 9 s and compares the acknowledgement with what was asked, and its instance with that of the first report."""
    session = await trial.registered(interval_ms=trial.short_ms, lease_ms=9_000)
    response = session.response
    _check_lease(response, 9_000)
    told = extensions_told(response)
    terms = f"lease_ttl_ms={response.lease_ttl_ms}, renew_after_ms={response.renew_after_ms}"
    if not told:
        raise NotOffered(f"{terms}, as it should be, and none of the optional fields")
    if missing := extensions_missing(response):
        raise Deviation(f"no {', '.join(missing)} beside {', '.join(told)}")
    if response.min_report_interval_ms < 1 or response.max_lease_ttl_ms < 2 or response.stale_after_ms < 1:
        raise Deviation(
            f"min_report_interval_ms={response.min_report_interval_ms}, max_lease_ttl_ms={response.max_lease_ttl_ms}, "
            f"stale_after_ms={response.stale_after_ms}"
        )
    wanted_ms = max(trial.short_ms, response.min_report_interval_ms)
    if response.report_interval_ms != wanted_ms:
        raise Deviation(f"report_interval_ms={response.report_interval_ms} where {wanted_ms} was to be granted")
    instance = (await session.stream.report()).source_instance_id
    if not instance or instance != response.source_instance_id:
        raise Deviation(f"source_instance_id={response.source_instance_id!r}, in the first report {instance!r}")
    return f"{terms}, and {', '.join(told)}"


@check("OPEN-5", expects="interval and lease within the limits that the acknowledgement tells", is_extension=True)
async def limits(trial: Trial) -> str:
    """Asks for an interval of 1 ms, a lease of 1 ms and one above the longest, reads what was granted, and counts the reports of the shortest interval."""
    session = await trial.registered(interval_ms=1)
    least_ms, most_ms = session.response.min_report_interval_ms, session.response.max_lease_ttl_ms
    if session.response.report_interval_ms != max(1, least_ms):
        raise Deviation(f"report_interval_ms={session.response.report_interval_ms} with a shortest one of {least_ms}")
    if least_ms in GRANTED_PACE_MS:
        await at_least(session.stream, least_ms)
    _check_lease((await trial.registered(lease_ms=min(most_ms + 1, _INT64_MAX))).response, most_ms)
    shortest = (await trial.registered(lease_ms=1)).response
    if shortest.lease_ttl_ms < 2 or shortest.renew_after_ms >= shortest.lease_ttl_ms:
        raise Deviation(f"lease_ttl_ms={shortest.lease_ttl_ms}, renew_after_ms={shortest.renew_after_ms} for 1 ms")
    return f"an interval of {least_ms} ms for 1 ms, a lease of {most_ms} ms for one above it and of {shortest.lease_ttl_ms} ms for 1 ms"


@check("OPEN-6", expects="the error RESOURCE_EXHAUSTED beyond a limit, and nobody else evicted", is_extension=True)
async def exhaustion(trial: Trial) -> str:
    """Registers 32 times over, then sends up to 2,500 frames as fast as they go, while another session must go on; where no limit is met there is nothing to judge."""
    bystander = await trial.registered(interval_ms=trial.short_ms)
    met = []
    flooding = None
    for count in range(2, _SESSIONS + 1):
        stream = trial.open()
        await stream.send(register(trial.router_id()))
        frame = await stream.receive()
        if frame is None or not frame.HasField("registered"):
            _check_exhausted(frame, f"session {count}")
            await _check_alive(bystander, f"session {count} was refused")
            met.append(f"for session {count}")
            break
        flooding = stream
    if flooding is not None and (count := await _flood(flooding)):
        await _check_alive(bystander, f"another sent {count} frames at once")
        met.append(f"after {count} frames at once")
    if not met:
        raise NotOffered(f"{_SESSIONS} sessions and {_FRAMES} frames as fast as they went: no limit was met")
    return f"RESOURCE_EXHAUSTED {' and '.join(met)}"


@check("OPEN-7", expects="SESSION_REPLACED for the older of two streams with one id, by an accepted register only")
async def replacement(trial: Trial) -> str:
    """Registers an id, registers it on a second stream with a bad interval, which must not replace the first, then on a third, which must."""
    older = await trial.registered(interval_ms=trial.short_ms)
    refused = trial.open()
    await refused.send(register(older.router_id, interval_ms=0))
    await refused.refusal("INVALID_ARGUMENT", "a register with report_interval_ms=0")
    await _check_alive(older, "a register with its id was refused")
    newer = await trial.registered(router_id=older.router_id, interval_ms=trial.short_ms)
    await older.stream.refusal("SESSION_REPLACED", "another stream's register with its id")
    await _check_alive(newer, "it replaced another")
    return "the refused register replaced nobody, the accepted one was told to the older stream"


def _check_lease(response: RegisterResponse, asked_ms: int) -> None:
    granted_ms = response.lease_ttl_ms
    if response.HasField("max_lease_ttl_ms"):
        is_right = granted_ms == min(asked_ms, response.max_lease_ttl_ms)
    else:
        is_right = 0 < granted_ms <= asked_ms
    if not is_right or response.renew_after_ms != max(1, granted_ms // 3):
        raise Deviation(f"lease_ttl_ms={granted_ms}, renew_after_ms={response.renew_after_ms} for {asked_ms} ms")


async def _check_alive(session: Registered, when: str) -> None:
    """Take two reports that arrive from now on."""
    try:
        session.stream.arrived()
        for _ in range(2):
            await session.stream.report()
    except Deviation as deviation:
        raise Deviation(f"{deviation} for a session, after {when}") from None


async def _flood(stream: RouterStream) -> int:
    """Send frames until the stream ends; return how many, or 0 when it took all."""
    sent = 0
    while sent < _FRAMES and not stream.ended:
        await stream.send(keep_alive())
        sent += 1
    frames = [frame for frame in await stream.arriving(QUIET_SECONDS) if not frame.HasField("report")]
    if not frames and not stream.ended:
        return 0
    _check_exhausted(frames[0] if frames else None, f"{sent} frames at once")
    return sent


def _check_exhausted(frame: WorkerFrame | None, to: str) -> None:
    if frame is None or frame.error.code != "RESOURCE_EXHAUSTED":
        words = "the end of the stream" if frame is None else describe(frame)
        raise Deviation(f"{words} after {to}, not RESOURCE_EXHAUSTED")

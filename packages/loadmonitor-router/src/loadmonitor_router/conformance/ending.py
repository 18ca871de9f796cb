"""The clauses END: how streams end."""

import asyncio

import grpc

from loadmonitor_proto import RouterFrame
from loadmonitor_router.conformance.frames import describe, keep_alive, register, update
from loadmonitor_router.conformance.results import Deviation, NotTestable, check
from loadmonitor_router.conformance.stream import RouterStream
from loadmonitor_router.conformance.trial import Trial

_OVERSIZED = 70_000


@check("END-1", expects="the end of the stream with status OK after an error")
async def after_an_error(trial: Trial) -> str:
    """Causes four errors, by a wrong first frame, a bad `register`, a bad `update_config` and a replacement, and reads to the end of each stream."""
    streams: dict[str, RouterStream] = {}
    for name, frame in (("a wrong first frame", keep_alive()), ("a blank router_id", register(""))):
        streams[name] = trial.open()
        await streams[name].send(frame)
    updated = await trial.registered()
    await updated.stream.send(update(interval_ms=0))
    streams["an update_config of zero"] = updated.stream
    replaced = await trial.registered()
    await trial.registered(router_id=replaced.router_id)
    streams["another stream's register"] = replaced.stream
    for name, stream in streams.items():
        frames, status = await stream.ending()
        rest = [frame for frame in frames if not frame.HasField("report")]
        if not rest or not rest[0].HasField("error"):
            raise Deviation(f"{describe(rest[0]) if rest else f'status {status.name}'} instead of an error for {name}")
        if frames[-1] is not rest[0]:
            raise Deviation(f"{describe(frames[-1])} after the error for {name}")
        if status is not grpc.StatusCode.OK:
            raise Deviation(f"status {status.name} after the error for {name}")
    return f"status OK after the errors for {', '.join(streams)}"


@check("END-2", expects="the error SHUTTING_DOWN for every session of a Worker that shuts down")
async def shutting_down(trial: Trial) -> str:
    """Registers twice and has the Worker shut down, where the caller of the kit has told how; comes last."""
    if trial.shut_down is None:
        raise NotTestable("a Router can't make a Worker shut down, and no other way was told")
    streams = [(await trial.registered(interval_ms=trial.short_ms)).stream for _ in range(2)]
    shutting = asyncio.ensure_future(trial.shut_down())
    try:
        for stream in streams:
            await stream.refusal("SHUTTING_DOWN", "the order to shut down")
    finally:
        await shutting
    return "SHUTTING_DOWN for both sessions"


@check("END-3", expects="a Router that dials again after an error that it doesn't know")
async def unknown_codes(trial: Trial) -> str:  # noqa: ARG001 - a check like the others
    """Isn't tested: it is about Routers. `loadmonitor_router.testing.ScriptedWorker` sends a Router any code."""
    raise NotTestable("this clause is about Routers")


@check(
    "END-4",
    expects="INVALID_ARGUMENT for what is no frame, RESOURCE_EXHAUSTED as status above 64 KiB",
    is_extension=True,
)
async def no_frames(trial: Trial) -> str:
    """Sends bytes that don't parse and a frame without payload, on streams that are registered, and 70,000 bytes as the first frame of another."""
    for name, frame in (("bytes that don't parse", b"\x0a\xff\xff\xff"), ("a frame without payload", RouterFrame())):
        session = await trial.registered()
        await session.stream.send(frame)
        await session.stream.refusal("INVALID_ARGUMENT", name)
    stream = trial.open()
    await stream.send(register("r" * _OVERSIZED))
    frames, status = await stream.ending()
    if frames or status is not grpc.StatusCode.RESOURCE_EXHAUSTED:
        words = describe(frames[0]) if frames else f"status {status.name}"
        raise Deviation(f"{words} after a frame of {_OVERSIZED} bytes")
    return "INVALID_ARGUMENT for both, status RESOURCE_EXHAUSTED above 64 KiB"

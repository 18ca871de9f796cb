"""`loadmonitor watch --until fresh`: waits, shows what happens, and tells the end by its exit code."""

import asyncio
import json
import signal
import sysconfig
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from loadmonitor_proto import ReportStatus
from loadmonitor_router.testing import ScriptedStream, ScriptedWorker, wire_report

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")


async def start(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(COMMAND, "watch", *arguments, stdout=PIPE, stderr=PIPE)


async def unreachable(stream: ScriptedStream, sequence_id: int) -> None:
    status = ReportStatus.REPORT_STATUS_UNREACHABLE
    await stream.report(wire_report(sequence_id, ranks=[], status=status, last_error="loading"))


async def test_it_ends_with_0_once_all_are_fresh_and_not_before() -> None:
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        process = await start(
            one.address, other.address, "--until", "fresh", "--timeout", "50", "--report-interval-ms", "100", "--json"
        )
        streams = [await worker.accept() for worker in (one, other)]
        for stream in streams:
            await stream.acknowledge()
        await streams[0].report(wire_report(1))
        await unreachable(streams[1], 1)
        assert process.stdout is not None
        told = [json.loads(await process.stdout.readline()) for _ in streams]
        assert {line["worker"]: line["freshness"] for line in told} == {
            one.address: "fresh",
            other.address: "unreachable",
        }
        await streams[1].receive()  # the acknowledgement that makes room for the next one
        await streams[1].report(wire_report(2))
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out.splitlines()[-1])["freshness"] == "fresh"


async def test_it_ends_with_1_at_the_timeout_and_says_who_is_not_fresh() -> None:
    async with ScriptedWorker() as worker:
        process = await start(worker.address, "--until", "fresh", "--timeout", "0.5", "--json")
        stream = await worker.accept()
        await stream.acknowledge()
        out, err = await process.communicate()
    assert (process.returncode, err) == (1, b"")
    last = json.loads(out.splitlines()[-1])
    assert (last["freshness"], last["reason"]) == ("missing", "no report yet")


async def test_it_ends_with_1_at_once_when_every_worker_refuses() -> None:
    async with ScriptedWorker() as worker:
        process = await start(worker.address, "--until", "fresh", "--timeout", "50")
        await (await worker.accept()).fail("PERMISSION_DENIED", "not you")
        out, err = await process.communicate()
    assert (process.returncode, err) == (1, b"")
    assert b"PERMISSION_DENIED: not you" in out


async def test_sigterm_ends_it_with_0_as_any_watch() -> None:
    async with ScriptedWorker() as worker:
        process = await start(worker.address, "--until", "fresh", "--timeout", "50")
        await worker.accept()
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    assert process.returncode == 0


async def test_once_and_until_exclude_each_other() -> None:
    process = await start("w:1", "--once", "--until", "fresh")
    out, err = await process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert b"--once and --until exclude each other" in err

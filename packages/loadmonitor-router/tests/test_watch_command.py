"""The command `loadmonitor` as people run it: a process, its output, its exit code."""

import asyncio
import json
import os
import pty
import signal
import socket
import sys
import sysconfig
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from loadmonitor_proto import RankLoad, ReportStatus
from loadmonitor_router.testing import ScriptedStream, ScriptedWorker, wire_rank, wire_report

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")


@asynccontextmanager
async def engine(*ranks: RankLoad) -> AsyncIterator[tuple[ScriptedWorker, list[ScriptedStream]]]:
    """A Worker that acknowledges everybody and sends the next report when the last one was acknowledged."""
    streams: list[ScriptedStream] = []
    serving: list[asyncio.Task[None]] = []

    async def serve(stream: ScriptedStream) -> None:
        await stream.acknowledge()
        sequence_id = 0
        while True:
            sequence_id += 1
            changing = [wire_rank(9, num_running_reqs=sequence_id % 200)]
            await stream.report(wire_report(sequence_id, ranks=ranks or changing))
            frame = await stream.receive()
            if frame is None or frame.HasField("stop"):
                return

    async def accept() -> None:
        while True:
            stream = await worker.accept()
            streams.append(stream)
            serving.append(asyncio.create_task(serve(stream)))

    async with ScriptedWorker() as worker:
        accepting = asyncio.create_task(accept())
        yield worker, streams
        accepting.cancel()
        await asyncio.wait([accepting, *serving])


async def start(*arguments: str, environment: dict[str, str] | None = None) -> Process:
    return await asyncio.create_subprocess_exec(
        COMMAND, *arguments, stdout=PIPE, stderr=PIPE, env={**os.environ, **(environment or {})}
    )


async def run(*arguments: str) -> tuple[int | None, str, str]:
    process = await start(*arguments)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_once_prints_each_worker_and_exits_0_when_all_are_fresh() -> None:
    async with engine(wire_rank(0), wire_rank(1)) as (one, _), engine(wire_rank(0)) as (other, _):
        code, out, err = await run("watch", one.address, other.address, "--once")
    assert (code, err) == (0, "")
    titles, *lines = [line.split() for line in out.splitlines()]
    assert titles[1:4] == ["WORKER", "RANK", "STATUS"]
    assert [line[1:4] for line in lines] == [
        [address, rank, "fresh"]
        for address, ranks in sorted({one.address: ["all", "0", "1"], other.address: ["all", "0"]}.items())
        for rank in ranks
    ]
    (whole,) = [line for line in lines if line[1:3] == [one.address, "all"]]
    assert whole[5:] == ["24", "6", "8192", "0.50", "1600"]


async def test_once_exits_1_and_says_why_when_a_worker_is_not_there() -> None:
    with socket.socket() as reserved:  # bound, so that nobody else listens there, and not listening
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
        async with engine(wire_rank(0)) as (worker, _):
            code, out, err = await run("watch", worker.address, address, "--once", "--timeout", "0.5")
    assert (code, err) == (1, "")
    (lost,) = (line for line in out.splitlines() if address in line)
    assert lost.split()[2:10] == ["all", "missing", "-", "-", "-", "-", "-", "-"]
    assert "Connection refused" in lost


async def test_a_black_hole_delays_neither_the_answer_nor_the_exit() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        code, out, err = await run("watch", address, "--once", "--json", "--timeout", "0.1")
    assert (code, err) == (1, "")
    assert (json.loads(out)["freshness"], json.loads(out)["reason"]) == ("missing", "connecting")


async def test_once_exits_1_when_a_worker_is_not_fresh() -> None:
    async with ScriptedWorker() as worker:
        watching = asyncio.create_task(run("watch", worker.address, "--once", "--json"))
        stream = await worker.accept()
        await stream.acknowledge()
        status = ReportStatus.REPORT_STATUS_UNREACHABLE
        await stream.report(wire_report(1, ranks=[], status=status, last_error="no snapshot file"))
        code, out, err = await watching
    assert (code, err) == (1, "")
    line = json.loads(out)
    assert (line["freshness"], line["reason"], line["report"]["ranks"]) == ("unreachable", "no snapshot file", [])


async def test_json_prints_one_object_a_line_for_each_report() -> None:
    async with engine() as (worker, streams):
        process = await start("watch", worker.address, "--json", "--report-interval-ms", "40", "--lease-ttl-ms", "900")
        assert process.stdout is not None
        lines = [json.loads(await process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert {line["schema"] for line in lines} == {"loadmonitor.watch/1"}
    assert {line["worker"] for line in lines} == {worker.address}
    sequence = [line["report"]["sequence_id"] for line in lines]
    assert sequence == sorted(set(sequence))
    assert (streams[0].register.report_interval_ms, streams[0].register.lease_ttl_ms) == (40, 900)


async def test_lines_come_as_they_happen_and_sigterm_ends_with_0() -> None:
    async with ScriptedWorker() as worker:
        process = await start("watch", worker.address)
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        assert process.stdout is not None
        assert (await process.stdout.readline()).split()[0] == b"TIME"
        assert b" fresh " in await process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        frames = [frame async for frame in frames_of(stream)]
        assert frames[-1] == "stop"


async def test_an_interrupt_ends_with_130_and_without_a_traceback() -> None:
    async with ScriptedWorker() as worker:
        process = await start("watch", worker.address)
        await worker.accept()
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


async def test_a_reader_that_leaves_ends_the_command_in_silence() -> None:
    async with engine() as (worker, _):
        reading, writing = os.pipe()
        process = await asyncio.create_subprocess_exec(
            COMMAND, "watch", worker.address, "--report-interval-ms", "20", stdout=writing, stderr=PIPE
        )
        os.close(writing)
        await asyncio.to_thread(os.read, reading, 1)
        os.close(reading)
        _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["watch"], "watch needs the address of a load reporter, such as 10.0.0.1:50061, or --discover"),
        (["watch", "w:1", "--discover", "static:http://w:1"], "takes addresses or --discover, not both"),
        (["watch", "--discover", "etcd:w"], "discovery 'etcd:w' is not understood: one of static:URL"),
        (["watch", "w:1", "--reporter-port", "5"], "--reporter-port 5 goes with --discover"),
        (["watch", "worker"], "address 'worker' can't be dialled: the port is missing"),
        (["watch", "w:1", "W:1"], "address 'W:1' is there twice"),
        (["watch", "w:1", "--report-interval-ms", "0"], "--report-interval-ms 0 is not allowed"),
        (["watch", "w:1", "--timeout", "0"], "--timeout 0.0 is not allowed"),
        (["watch", "w:1", "--intervall-ms", "5"], "Did you mean"),
        (["wach"], "Did you mean"),
    ],
)
async def test_a_usage_error_is_one_plain_line_on_stderr_and_exits_2(arguments: Sequence[str], error: str) -> None:
    code, out, err = await run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("loadmonitor: ")
    assert error in err
    assert err.count("\n") == 1
    assert not set(err) & set("╭│╰\x1b")


async def test_on_a_terminal_there_is_a_table_that_is_redrawn() -> None:
    shown, terminal = pty.openpty()
    async with engine(wire_rank(0, token_usage=0.72)) as (worker, _):
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            "watch",
            worker.address,
            "127.0.0.1:1",
            stdout=terminal,
            stderr=PIPE,
            env={**os.environ, "COLUMNS": "140", "TERM": "xterm"},
        )
        os.close(terminal)
        wanted = ["██████▌·· 0.72", "2 workers", "1 fresh", "Connection refused"]
        text = b""
        while text.count(b"GEN tok/s") < 3 or not all(part.encode() in text for part in wanted):
            text += await asyncio.to_thread(os.read, shown, 65_536)
        process.send_signal(signal.SIGTERM)
        draining = asyncio.create_task(asyncio.to_thread(drain, shown))
        _, err = await process.communicate()
        await draining
        os.close(shown)
    assert (process.returncode, err) == (0, b"")


async def test_help_and_version_do_not_wait_for_grpc() -> None:
    script = (
        "import sys; from loadmonitor_router.__main__ import main; sys.argv = ['loadmonitor', {!r}]; code = main();"
        "print(sorted({{'grpc', 'google.protobuf', 'asyncio', 'cyclopts'}} & set(sys.modules)), file=sys.stderr);"
        "sys.exit(code)"
    )
    for flag, imported in (("--version", "[]"), ("--help", "['cyclopts']")):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script.format(flag), stdout=PIPE, stderr=PIPE
        )
        out, err = await process.communicate()
        assert (process.returncode, err.decode().strip()) == (0, imported)
        assert out


async def test_without_the_extra_one_line_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['cyclopts'] = None; from loadmonitor_router.__main__ import main;"
        "sys.argv = ['loadmonitor', 'watch', 'w:1']; sys.exit(main())"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == "loadmonitor: the command needs cyclopts: pip install 'loadmonitor-router[cli]'\n"


async def frames_of(stream: ScriptedStream) -> AsyncIterator[str]:
    while (frame := await stream.receive()) is not None:
        yield str(frame.WhichOneof("payload"))


def drain(terminal: int) -> None:
    """Read until the last process has left the terminal, which Linux tells by EIO."""
    try:
        while os.read(terminal, 65_536):
            pass
    except OSError:
        return


async def test_lines_reach_a_pipe_as_they_come() -> None:
    async with engine(wire_rank(0)) as (worker, _):
        process = await asyncio.create_subprocess_exec(COMMAND, "watch", worker.address, stdout=PIPE, stderr=PIPE)
        assert process.stdout is not None
        titles, row = await process.stdout.readline(), await process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    assert titles.startswith(b"TIME")
    assert b"fresh" in row


async def test_a_single_look_that_was_stopped_does_not_count_as_fresh() -> None:
    process = await asyncio.create_subprocess_exec(
        COMMAND, "watch", "--once", "--json", "--timeout", "30", "127.0.0.1:1", stdout=PIPE, stderr=PIPE
    )
    await asyncio.to_thread(wait_for_handler, process.pid, signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    out, err = await process.communicate()
    assert (process.returncode, out, err) == (1, b"", b"")


def wait_for_handler(pid: int, number: int) -> None:
    """Wait until a process catches a signal, by what the kernel says of it."""
    mask = 0
    while not mask >> (number - 1) & 1:
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
        mask = int(line.split()[1], 16)


async def test_closed_or_full_output_is_no_traceback() -> None:
    closed = await asyncio.create_subprocess_exec("sh", "-c", f"exec {COMMAND} --version >&-", stderr=PIPE)
    assert ((await closed.communicate())[1], closed.returncode) == (b"", 0)
    ended = await asyncio.create_subprocess_exec("sh", "-c", f"exec {COMMAND} --version >/dev/full", stderr=PIPE)
    _, err = await ended.communicate()
    assert (ended.returncode, err) == (1, b"loadmonitor: standard output can't be written: No space left on device\n")

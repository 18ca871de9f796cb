"""`loadmonitor-worker drain` against a `serve` beside it, as a preStop hook runs it."""

import asyncio
import json
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
import pytest
from worker_bench import Router
from worker_process import run, running, stopped

from loadmonitor_proto import WorkerState as State
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker.cli import drain as drain_module
from loadmonitor_worker.sources import SglangShmWriter
from loadmonitor_worker.testing import rank


@asynccontextmanager
async def sidecar(path: Path, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Router, str]]:
    """Serve the file with a second port; yield the process, a registered router and that port."""
    arguments = ("--source", "sglang-shm", "--shm-path", str(path), "--http-listen", "127.0.0.1:0", *arguments)
    async with running("serve", "--listen", "127.0.0.1:0", *arguments) as (process, line):
        assert process.stdout is not None
        second = (await process.stdout.readline()).decode().strip()
        assert second.startswith("metrics at http://127.0.0.1:")
        assert second.endswith("/metrics")
        async with grpc.aio.insecure_channel(line.removeprefix("listening on ")) as channel:
            router = Router(LoadMonitorStub(channel).Monitor())
            await router.register(interval_ms=60_000, lease_ms=60_000)
            await router.report()
            yield process, router, second.rpartition(":")[2].removesuffix("/metrics")


async def publish(path: Path, running_requests: list[int], stop: asyncio.Event) -> None:
    """Publish as an engine does, with the newest number of running requests, until told to stop."""
    with SglangShmWriter(path, 1, 0) as writer:
        while not stop.is_set():
            writer.write(rank(0, running=running_requests[-1], at=time.time_ns() // 1_000_000))
            await asyncio.sleep(0.02)


async def test_drain_waits_for_the_work_and_serve_tells_draining_until_sigterm(tmp_path: Path) -> None:
    path, requests, stop = tmp_path / "loads.shm", [3], asyncio.Event()
    publishing = asyncio.create_task(publish(path, requests, stop))
    async with sidecar(path, "--log-format", "json") as (process, router, port):
        drain = ("drain", "--http-listen", f"127.0.0.1:{port}", "--timeout")
        too_short = await asyncio.to_thread(run, *drain, "1.5")
        assert (too_short.returncode, too_short.stdout) == (1, "")
        assert too_short.stderr.startswith("loadmonitor-worker: not idle after 1.5 s: 3 running, 0 waiting")
        assert (await router.report()).worker_state == State.WORKER_STATE_DRAINING
        requests.append(0)
        done = await asyncio.to_thread(run, *drain, "30")
        assert (done.returncode, done.stderr) == (0, ""), done
        assert done.stdout.startswith("idle after ")
        logged = [json.loads(line) for line in await stopped(process, router)]
        assert [line["message"] for line in logged if "state" in line["message"]] == [
            "the engine's state is draining, was not told"
        ]
        assert {line.get("router_id") for line in logged} == {"r", None}
    stop.set()
    await publishing


async def test_sigterm_ends_a_drain_that_waits(tmp_path: Path) -> None:
    async with sidecar(tmp_path / "none.shm") as (process, router, port):
        waiting = asyncio.create_task(
            asyncio.to_thread(run, "drain", "--http-listen", f"127.0.0.1:{port}", "--timeout", "3600")
        )
        assert (await router.report()).worker_state == State.WORKER_STATE_DRAINING
        process.send_signal(signal.SIGTERM)
        ended = await waiting
        assert await process.wait() == 0
    assert ended.returncode == 1
    assert "the reporter was closed" in ended.stderr


async def test_drain_asks_where_the_environment_has_serve_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sidecar(tmp_path / "none.shm") as (_, _, port):
        monkeypatch.setenv("LOADMONITOR_HTTP_LISTEN", f"0.0.0.0:{port}")
        ended = await asyncio.to_thread(run, "drain", "--timeout", "0.2")
    assert ended.stderr.startswith("loadmonitor-worker: not idle after 0.2 s: ")


def test_where_nobody_answers_drain_says_what_must_run_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and doesn't listen
        port = bound.getsockname()[1]
        ended = run("drain", "--http-listen", f"127.0.0.1:{port}")
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"loadmonitor-worker: no answer from 127.0.0.1:{port} (")
    assert line.endswith(f"`serve --http-listen 127.0.0.1:{port}` must run there")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnope\n", "answered 404: nope"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "answered 200: []"),
        (b"SSH-2.0-x\r\n", "must run there"),
    ],
)
async def test_another_server_on_the_port_is_not_taken_for_serve(answer: bytes, said: str) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        port = str(server.sockets[0].getsockname()[1])
        ended = await asyncio.to_thread(run, "drain", "--http-listen", f"127.0.0.1:{port}")
    assert ended.returncode == 1
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


async def test_an_answer_may_take_longer_than_a_connection_may(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(drain_module, "_CONNECT_SECONDS", 0.1)
    asked = []

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0])
        await asyncio.sleep(0.3)  # longer than a connection may take: there is no other way to be late
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"idle": true, "reason": null, "waited_seconds": 0.3}')
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await asyncio.to_thread(drain_module.drain, timeout_seconds=30, http_listen=f"127.0.0.1:{port}") == 0
    assert asked == [b"POST /drain?timeout_seconds=30 HTTP/1.1"]
    assert capsys.readouterr().out == "idle after 0.3 s\n"


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["--timeout", "-1"], 2, "--timeout -1"),
        (["--timeout", "nan"], 2, "--timeout nan"),
        (["--http-listen", "127.0.0.1:0"], 2, "--http-listen: 0 is not"),
        (["--timeout", "soon"], 2, "soon"),
    ],
)
def test_a_wrong_limit_or_port_is_one_line(arguments: list[str], code: int, named: str) -> None:
    ended = run("drain", *arguments)
    assert ended.returncode == code
    [line] = ended.stderr.splitlines()
    assert named in line

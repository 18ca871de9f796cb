"""The programs of docs/programs: a real server of each shape, watched by the Router's own client over real gRPC."""

import asyncio
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest

from loadmonitor_router import Connection, MonitorClient, ReportStatus, WorkerReport
from loadmonitor_worker.sources import SglangShmWriter, SyntheticSource

PROGRAMS = Path(__file__).parents[2] / "docs" / "programs"
WAIT_SECONDS = 50


class Program:
    """A running program and what it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""

    async def prints(self, pattern: str) -> re.Match[str]:
        """Wait for output that matches."""
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT_SECONDS):
            while not (found := re.search(pattern, self.output)):
                line = await self.process.stdout.readline()
                assert line, f"the program ended:\n{self.output}"
                self.output += line.decode()
        return found

    async def ends(self) -> int:
        """Wait for the end; return the status."""
        async with asyncio.timeout(WAIT_SECONDS):
            rest, _ = await self.process.communicate()
            self.output += rest.decode()
        return self.process.returncode or 0


@asynccontextmanager
async def running(name: str, *arguments: str) -> AsyncIterator[Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(PROGRAMS / name),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    program = Program(process)
    try:
        yield program
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await program.ends()


class Router:
    """A Router's client, and every reason for which it lost its stream."""

    def __init__(self, address: str) -> None:
        self.lost: list[str] = []
        self._changed = asyncio.Event()
        self.client = MonitorClient(address, router_id="r", report_interval_ms=50, on_connection=self._note)

    def _note(self, connection: Connection) -> None:
        if connection.last_error is not None and connection.last_error not in self.lost[-1:]:
            self.lost.append(connection.last_error)
        self._changed.set()

    async def report(self, condition: Callable[[WorkerReport], bool] = lambda _: True) -> WorkerReport:
        """Wait for a report that meets the condition."""
        async with asyncio.timeout(WAIT_SECONDS):
            async for report in self.client:
                if condition(report):
                    return report
        raise AssertionError

    async def loses(self, reason: str) -> None:
        """Wait until the stream was lost for this reason."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not any(reason in lost for lost in self.lost):
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def routing(address: str) -> AsyncIterator[Router]:
    router = Router(address)
    async with router.client:
        yield router


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listening() -> dict[int, set[int]]:
    """The ports that processes of this user listen on, and which those are."""
    tables = "".join(
        Path("/proc/net", name).read_text() for name in ("tcp", "tcp6") if Path("/proc/net", name).exists()
    )
    rows = [line.split() for line in tables.splitlines()]
    ports = {f"socket:[{row[9]}]": int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    found: dict[int, set[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if (port := ports.get(str(entry.readlink()))) is not None:
                found.setdefault(port, set()).add(int(entry.parts[2]))
    return found


async def test_http_the_lifespan_owns_the_reporter_and_says_goodbye() -> None:
    async with running("serve_http.py", "--port", "0", "--load-reporter-port", "0") as program:
        address = (await program.prints(r"reporting on (\S+)"))[1]
        url = (await program.prints(r"running on (\S+)"))[1]
        async with routing(address) as router, httpx.AsyncClient(base_url=url) as http:
            assert (await router.report()).ranks[0].num_running_reqs == 0
            assert (await http.post("/requests")).json() == 1
            await router.report(lambda report: report.ranks[0].num_running_reqs == 1)
            await http.aclose()
            program.process.send_signal(signal.SIGTERM)
            await router.loses("SHUTTING_DOWN")
            await program.ends()
            assert "Traceback" not in program.output


async def test_http_switched_off_reports_nothing() -> None:
    async with running("serve_http.py", "--port", "0") as program:
        await program.prints(r"reporting on None")
        await program.prints(r"running on (\S+)")


async def test_native_grpc_beside_http_shares_one_listener_until_both_have_stopped() -> None:
    arguments = ("--port", "0", "--grpc-port", "0", "--load-reporter-port", "0")
    async with running("serve_http_and_grpc.py", *arguments) as program:
        address = (await program.prints(r"http reports on (\S+)"))[1]
        assert (await program.prints(r"grpc reports on (\S+)"))[1] == address
        grpc_port = (await program.prints(r"grpc listens on (\d+)"))[1]
        http_port = (await program.prints(r"running on http://127.0.0.1:(\d+)"))[1]
        ports = {port for port, holders in listening().items() if program.process.pid in holders}
        assert ports == {int(grpc_port), int(http_port), int(address.rpartition(":")[2])}
        async with (
            routing(address) as router,
            grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port}") as channel,
        ):
            assert len((await router.report()).ranks) == 2
            generate: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/engine.Engine/Generate")
            assert await generate(b"prompt") == b"prompt"
            program.process.send_signal(signal.SIGTERM)
            await router.loses("SHUTTING_DOWN")
            await program.ends()
            assert "Traceback" not in program.output


async def worker_told(method: str, url: str) -> dict[str, Any]:
    """Ask on a new connection, which any worker process may accept; return what it tells of itself."""
    async with httpx.AsyncClient(timeout=WAIT_SECONDS) as http:
        told: dict[str, Any] = (await http.request(method, url)).json()
        return told


async def workers_told(url: str, *, owner: bool) -> dict[str, Any]:
    """Ask until a process answers that owns the reporter, or one that doesn't."""
    async with asyncio.timeout(WAIT_SECONDS):
        while (told := await worker_told("GET", f"{url}/worker"))["owner"] is not owner:
            pass
        return told


# Three interpreters start here, and one again.
@pytest.mark.timeout(180)
async def test_of_many_workers_one_reports_all_reach_it_and_another_takes_over_when_it_dies(tmp_path: Path) -> None:
    shm, port = tmp_path / "loads.shm", free_port()
    [load] = await SyntheticSource(1).get_loads()
    with SglangShmWriter(shm, 1, 0) as writer:
        writer.write(load)
        arguments = ["--port", str(free_port()), "--workers", "2", "--load-reporter-port", str(port)]
        arguments += ["--shm-path", str(shm), "--directory", str(tmp_path / "engine")]
        async with running("serve_http_workers.py", *arguments) as program:
            url = (await program.prints(r"running on (\S+)"))[1]
            await program.prints(r"(?s)startup complete.*startup complete")
            owner, other = await workers_told(url, owner=True), await workers_told(url, owner=False)
            assert (owner["grpc"], other["grpc"]) == (True, False)
            assert listening()[port] == {owner["pid"]}
            async with routing(f"127.0.0.1:{port}") as router:
                before = await router.report(lambda report: report.status is not ReportStatus.UNREACHABLE)
                assert [rank.dp_rank for rank in before.ranks] == [0]

                for dp_size in count(2):
                    if not (await worker_told("PUT", f"{url}/dp_size/{dp_size}"))["owner"]:
                        break
                told = f"missing of the {dp_size} expected ranks"
                await router.report(lambda report: told in (report.last_error or ""))

                os.kill(owner["pid"], signal.SIGKILL)
                after = await router.report(lambda report: report.source_instance_id != before.source_instance_id)
                assert told in (after.last_error or "")
                [successor] = listening()[port]
                assert successor != owner["pid"]

                program.process.send_signal(signal.SIGTERM)
                await router.loses("SHUTTING_DOWN")


async def test_a_synchronous_engine_reports_while_it_waits_for_its_input() -> None:
    async with running("serve_thread.py", "--load-reporter-port", "0") as program:
        address = (await program.prints(r"reporting on (\S+)"))[1]
        assert program.process.stdin is not None
        async with routing(address) as router:
            assert (await router.report()).ranks[0].num_running_reqs == 0
            program.process.stdin.write(b"three little prompts\n")
            await router.report(lambda report: report.ranks[0].num_running_reqs == 3)
            program.process.stdin.close()
            await router.loses("SHUTTING_DOWN")
            assert await program.ends() == 0
            assert "Traceback" not in program.output


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [((), 0, r"olleh"), (("--load-reporter-port", "0"), 1, r"an embedded engine has no server.*pass port=None")],
)
async def test_an_embedded_engine_never_reports_and_says_so(
    arguments: tuple[str, ...], status: int, printed: str
) -> None:
    async with running("embedded_engine.py", *arguments) as program:
        await program.prints(printed)
        assert await program.ends() == status

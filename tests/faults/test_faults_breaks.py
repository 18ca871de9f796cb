"""Connections that break, workers that restart, ports that change hands: who is seen afterwards, and how soon."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from case import Case
from http2_frames import Reason, goaway, rst_stream
from processes import COMMAND, Process, Router, Worker
from proxy import Proxy

from loadmonitor_router.testing import ScriptedWorker

pytestmark = pytest.mark.timeout(180)

EVERY_STREAM = 2**31 - 1
HERD = 200


@asynccontextmanager
async def pair(*options: str) -> AsyncIterator[tuple[Worker, Proxy, Router]]:
    """Start a worker, a proxy and a router that is fresh."""
    async with (
        Worker.telling() as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, *options) as router,
    ):
        await router.starts()
        yield worker, proxy, router


@pytest.mark.fault("RST in the middle of a report's frame (SO_LINGER 0)")
async def test_half_a_report_is_none(case: Case) -> None:
    async with pair() as (worker, proxy, router):
        case.happens("the next report is cut by RST")
        proxy.cuts_data = True
        await case.router_says(router, "missing", "Connection reset", within=10)
        fresh = await case.router_says(router, "fresh", within=10)
        assert fresh["reconnects"] == 1
        await case.worker_says(worker, "r", streams=1, within=10)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        pytest.param(
            Reason.INTERNAL_ERROR,
            "Received RST_STREAM with error code 2",
            marks=pytest.mark.fault("RST_STREAM from a middlebox: INTERNAL_ERROR"),
            id="internal",
        ),
        pytest.param(
            Reason.CANCEL,
            "CANCELLED",
            marks=[pytest.mark.long, pytest.mark.fault("RST_STREAM from a middlebox: CANCEL")],
            id="cancel",
        ),
        pytest.param(
            Reason.REFUSED_STREAM,
            "UNAVAILABLE",
            marks=[pytest.mark.long, pytest.mark.fault("RST_STREAM from a middlebox: REFUSED_STREAM")],
            id="refused",
        ),
        pytest.param(
            Reason.ENHANCE_YOUR_CALM,
            "RESOURCE_EXHAUSTED",
            marks=[pytest.mark.long, pytest.mark.fault("RST_STREAM from a middlebox: ENHANCE_YOUR_CALM")],
            id="calm",
        ),
        pytest.param(
            Reason.NO_ERROR,
            "Received RST_STREAM with error code 0",
            marks=[pytest.mark.long, pytest.mark.fault("RST_STREAM from a middlebox: NO_ERROR")],
            id="no error",
        ),
    ],
)
async def test_a_stream_that_a_middlebox_ends_is_opened_again(case: Case, reason: Reason, status: str) -> None:
    async with pair() as (worker, proxy, router):
        case.happens(f"RST_STREAM, code {int(reason)}")
        proxy.inject(rst_stream(proxy.connections[-1].stream_id, reason))
        await case.router_says(router, "missing", status, within=10)
        fresh = await case.router_says(router, "fresh", within=10)
        assert fresh["reconnects"] == 1
        await case.worker_says(worker, "r", streams=1, within=10)


@pytest.mark.fault("GOAWAY without an error: the connection is to end, the stream may go on")
async def test_a_stream_outlives_a_graceful_goaway_and_is_opened_anew_when_it_is_cut(case: Case) -> None:
    async with pair() as (worker, proxy, router):
        case.happens("GOAWAY, NO_ERROR, all streams spared")
        proxy.inject(goaway(EVERY_STREAM, Reason.NO_ERROR))
        before = await router.says("fresh", after_ns=case.since_ns)
        async with case.outcome(router="fresh: the stream goes on", within=10):
            while (said := await router.says("fresh"))["received"] < before["received"] + 3:
                assert said["reconnects"] == 0
        case.happens("the middlebox ends the connection")
        proxy.reset_all()
        await case.router_says(router, "missing", "UNAVAILABLE", within=10)
        await case.router_says(router, "fresh", within=10)
        await case.worker_says(worker, "r", streams=1, within=10)


@pytest.mark.long
@pytest.mark.fault("GOAWAY that takes back the stream")
async def test_a_goaway_that_takes_back_the_stream_is_a_loss(case: Case) -> None:
    async with pair() as (worker, proxy, router):
        case.happens("GOAWAY, NO_ERROR, last stream 0")
        proxy.inject(goaway(0, Reason.NO_ERROR))
        await case.router_says(router, "missing", "UNAVAILABLE", within=10)
        await case.router_says(router, "fresh", within=10)
        await case.worker_says(worker, "r", streams=1, within=10)


@pytest.mark.fault("GOAWAY: ENHANCE_YOUR_CALM, too many pings")
async def test_a_peer_that_wants_fewer_pings_is_dialled_again(case: Case) -> None:
    async with pair() as (worker, proxy, router):
        case.happens("GOAWAY, too_many_pings")
        proxy.inject(goaway(0, Reason.ENHANCE_YOUR_CALM, b"too_many_pings"))
        await case.router_says(router, "missing", "UNAVAILABLE", within=10)
        await case.router_says(router, "fresh", within=10)
        await case.worker_says(worker, "r", streams=1, within=10)


@pytest.mark.fault("the worker's server has a maximum connection age of 1 s, and 1 s of grace")
async def test_a_connection_that_grew_too_old_is_replaced_by_a_new_one(case: Case) -> None:
    async with Worker.telling("--max-connection-age-ms", "1000") as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("the connection's age and grace pass")
        await case.router_says(router, "missing", "UNAVAILABLE", within=20)
        fresh = await case.router_says(router, "fresh", within=20)
        assert fresh["reconnects"] == 1
        await case.worker_says(worker, "r", streams=1, within=20)


@pytest.mark.fault("the worker is killed (SIGKILL) and restarted on its port")
async def test_a_restarted_worker_is_a_new_instance_on_the_same_port(case: Case) -> None:
    async with Worker.serving() as first, Router.watching(first.address) as router:
        before = await router.starts()
        case.happens("SIGKILL")
        await first.kill()
        await case.router_says(router, "missing", "UNAVAILABLE", within=10)
        await case.router_says(router, "missing", "Connection refused", within=10)
        async with Worker.serving("--source", "synthetic", "--listen", f"127.0.0.1:{first.port}"):
            case.happens("the restarted worker listens")
            after = await case.router_says(router, "fresh", within=20)
            assert after["instance"] != before["instance"]


@pytest.mark.long
@pytest.mark.fault("the worker is told to end (SIGTERM) and restarted on its port")
async def test_a_worker_that_goes_says_so(case: Case) -> None:
    async with Worker.serving() as first, Router.watching(first.address) as router:
        await router.starts()
        case.happens("SIGTERM")
        first.terminate()
        await case.router_says(router, "missing", "SHUTTING_DOWN", within=10)
        async with case.outcome(worker="exit code 0", within=10):
            assert await first.ends() == 0
        async with Worker.serving("--source", "synthetic", "--listen", f"127.0.0.1:{first.port}"):
            case.happens("the restarted worker listens")
            await case.router_says(router, "fresh", within=20)


@pytest.mark.fault("the port is taken over by another worker")
async def test_a_worker_that_took_the_port_over_is_another_instance_and_the_old_one_is_welcome_back(case: Case) -> None:
    async with pair() as (first, proxy, router), Worker.telling("--dp-size", "2") as second:
        before = await router.says("fresh")
        case.happens("the address leads to another worker")
        proxy.target = second.address
        proxy.reset_all()
        async with case.outcome(router="fresh: the new worker's reports", within=10):
            while (await router.says("fresh", after_ns=case.since_ns))["instance"] == before["instance"]:
                pass
        await case.worker_says(first, streams=0, within=10, note="the old worker")
        await case.worker_says(second, "r", streams=1, within=10, note="the new worker")
        case.happens("the address leads back to the old worker")
        proxy.target = first.address
        proxy.reset_all()
        async with case.outcome(router="fresh: the old worker's reports", within=10):
            while (await router.says("fresh", after_ns=case.since_ns))["instance"] != before["instance"]:
                pass
        await case.worker_says(first, "r", streams=1, within=10, note="the old worker")


@pytest.mark.long
@pytest.mark.fault("the port is taken over by a gRPC server without a load reporter")
async def test_a_stranger_that_speaks_grpc_is_named(case: Case) -> None:
    async with Worker.serving() as worker, Router.watching(worker.address) as router:
        await router.starts()
        await worker.kill()
        async with ScriptedWorker(port=int(worker.port), has_service=False):
            case.happens("it listens")
            await case.router_says(
                router, "missing", "has no sglang.router.loadmonitor.v1.LoadMonitorService", within=20
            )
        async with Worker.serving("--source", "synthetic", "--listen", f"127.0.0.1:{worker.port}"):
            case.happens("a worker listens again")
            await case.router_says(router, "fresh", within=30)


@pytest.mark.long
@pytest.mark.fault("the port is taken over by an HTTP/1 server")
async def test_a_stranger_that_speaks_http_1_is_missing_with_the_reason(case: Case) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()

    async with Worker.serving() as worker, Router.watching(worker.address) as router:
        await router.starts()
        await worker.kill()
        server = await asyncio.start_server(answer, "127.0.0.1", int(worker.port))
        async with server:
            case.happens("it listens")
            await case.router_says(router, "missing", "Trying to connect an http1.x server", within=20)
        async with Worker.serving("--source", "synthetic", "--listen", f"127.0.0.1:{worker.port}"):
            case.happens("a worker listens again")
            await case.router_says(router, "fresh", within=30)


@pytest.mark.long
@pytest.mark.fault("a second worker is started on a port in use")
async def test_a_second_worker_on_the_port_ends_with_one_line_and_the_first_goes_on(case: Case) -> None:
    async with Worker.serving() as first, Router.watching(first.address) as router:
        before = await router.starts()
        case.happens("the second is started")
        async with (
            Process.run(COMMAND, "serve", "--source", "synthetic", "--listen", f"127.0.0.1:{first.port}") as second,
            case.outcome(worker="the second: exit code 1, one line that names the port", within=30),
        ):
            assert await second.ends() == 1
            assert f":{first.port}: another process listens on that port" in await second.complains("can't listen")
        after = await case.router_says(router, "fresh", within=40)
        assert after["reconnects"] == 0
        assert after["instance"] == before["instance"]


@pytest.mark.fault("200 routers lose their connections at once")
async def test_two_hundred_routers_come_back_at_once(case: Case) -> None:
    async with (
        Worker.telling() as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, "--routers", str(HERD), "--interval-ms", "1000") as routers,
    ):
        async with asyncio.timeout(40):
            await routers.says(f"{HERD} fresh")
        case.happens("all connections are reset")
        proxy.reset_all()
        async with case.outcome(router=f"{HERD} fresh, each on a new stream", within=40):
            while (await routers.says(f"{HERD} fresh", after_ns=case.since_ns))["reconnects"] < HERD:
                pass
        everybody = sorted(f"r{number or ''}" for number in range(HERD))
        async with case.outcome(worker=f"{HERD} registered; streams: {HERD}", within=40):
            await worker.says(everybody, HERD)

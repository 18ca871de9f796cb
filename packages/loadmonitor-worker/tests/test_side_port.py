"""The sidecar's second listener: what it answers to whom, and that nobody can hold it up."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from worker_bench import WAIT_SECONDS, Bench

import loadmonitor_proto as wire
from loadmonitor_worker import BindError, ConfigError, WorkerState
from loadmonitor_worker.cli import _side_port
from loadmonitor_worker.cli._side_port import SidePortConfig, side_port
from loadmonitor_worker.testing import rank, settle


@asynccontextmanager
async def listening(bench: Bench, *, remote_drain: bool = False, host: str = "127.0.0.1") -> AsyncIterator[int]:
    async with side_port(bench.reporter, SidePortConfig(port=0, host=host, remote_drain=remote_drain)) as address:
        assert address is not None
        yield int(address.rpartition(":")[2])


async def ask(port: int, request: str, host: str = "127.0.0.1") -> tuple[int, str, str]:
    """Send one request; return the status, the head and the body."""
    async with asyncio.timeout(WAIT_SECONDS):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split(" ")[1]), head, body


async def test_a_probe_and_a_scrape_are_answered(bench: Bench) -> None:
    await bench.registered()
    async with listening(bench) as port:
        assert (await ask(port, "GET /livez"))[::2] == (200, "ok\n")
        status, head, body = await ask(port, "GET /metrics?x=1")
    assert status == 200
    assert "Content-Type: text/plain; version=0.0.4" in head
    assert f"Content-Length: {len(body)}" in head
    assert "loadmonitor_worker_sessions 1.0" in body


async def test_readiness_is_that_of_the_last_report(bench: Bench) -> None:
    async with listening(bench) as port:
        status, _, body = await ask(port, "GET /readyz")
        assert (status, body) == (503, "no report yet: the engine is read when a router registers\n")
        router = await bench.registered()
        assert (await ask(port, "GET /readyz"))[::2] == (200, "the last report was HEALTHY\n")
        bench.source.ranks = []
        await bench.clock.advance(1_000)
        await router.report()
        assert (await ask(port, "GET /readyz"))[::2] == (503, "the last report was UNREACHABLE\n")
        bench.source.ranks = [rank()]
        bench.source.stamp_ms = 1
        await bench.clock.advance(1_000)
        await router.report()
        assert (await ask(port, "GET /readyz"))[::2] == (200, "the last report was STALE\n")


async def test_head_has_the_length_and_no_body(bench: Bench) -> None:
    async with listening(bench) as port:
        status, head, body = await ask(port, "HEAD /livez")
    assert (status, body) == (200, "")
    assert "Content-Length: 3" in head


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /", 404),
        ("GET /drain", 405),
        ("POST /metrics", 405),
        ("PUT /drain", 405),
        ("POST /drain?timeout_seconds=soon", 400),
        ("POST /drain?timeout=1", 400),
        ("POST /drain?timeout_seconds=-1", 400),
        ("POST /drain?timeout_seconds=nan", 400),
        ("POST /drain?timeout_seconds=86401", 400),
        ("", 405),
    ],
)
async def test_what_is_not_there_or_not_allowed_is_refused_and_changes_nothing(
    bench: Bench, request_line: str, status: int
) -> None:
    async with listening(bench) as port:
        assert (await ask(port, request_line))[0] == status
    assert bench.reporter.worker_state is None


async def test_a_drain_tells_draining_and_answers_when_the_engine_is_idle(bench: Bench) -> None:
    router = await bench.registered()
    bench.source.ranks = [rank(running=2)]
    async with listening(bench) as port:
        answer = asyncio.create_task(ask(port, "POST /drain?timeout_seconds=60"))
        await bench.seen(lambda: bench.reporter.worker_state is WorkerState.DRAINING)
        await bench.clock.advance(0)
        assert (await router.report()).worker_state == wire.WorkerState.WORKER_STATE_DRAINING
        bench.source.ranks = [rank(running=0)]
        await bench.clock.advance(1_400)
        status, head, body = await answer
    assert (status, json.loads(body)["idle"], json.loads(body)["reason"]) == (200, True, None)
    assert "application/json" in head
    assert bench.open_streams() == 1  # it goes on telling DRAINING


async def test_a_drain_that_reaches_its_limit_says_what_is_in_the_way(bench: Bench) -> None:
    bench.source.ranks = [rank(running=2)]
    async with listening(bench) as port:
        answer = asyncio.create_task(ask(port, "POST /drain?timeout_seconds=1.5"))
        await bench.seen(lambda: bench.reporter.worker_state is WorkerState.DRAINING)
        await settle()
        await bench.clock.advance(1_500)
        status, _, body = await answer
    assert (status, json.loads(body)["reason"]) == (504, "2 running, 0 waiting")


async def test_a_reporter_that_closes_answers_a_drain_that_waits(bench: Bench) -> None:
    bench.source.ranks = [rank(running=2)]
    async with listening(bench) as port:
        answer = asyncio.create_task(ask(port, "POST /drain"))
        await bench.seen(lambda: bench.reporter.worker_state is WorkerState.DRAINING)
        await settle()
        await bench.reporter.close()
        status, _, body = await answer
    assert (status, json.loads(body)["reason"]) == (504, "the reporter was closed")


@pytest.mark.parametrize("request_line", ["POST /drain?timeout_seconds=0", "GET /drain?timeout_seconds=0"])
async def test_others_may_drain_only_where_that_is_allowed(
    bench: Bench, request_line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_side_port, "_is_this_machine", lambda _peer: False)
    async with listening(bench) as port:
        assert (await ask(port, request_line))[0] in {403, 405}
    assert bench.reporter.worker_state is None
    async with listening(bench, remote_drain=True) as port:
        answer = asyncio.create_task(ask(port, request_line))
        await bench.seen(lambda: bench.reporter.worker_state is WorkerState.DRAINING)
        await settle()
        await bench.clock.advance(0)
        assert (await answer)[0] == 504


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (("127.0.0.1", "1"), True),
        (("127.8.8.8", "1"), True),
        (("::1", "1"), True),
        (("::ffff:127.0.0.1", "1"), True),
        (("::ffff:10.0.0.1", "1"), False),
        (("10.0.0.1", "1"), False),
        (None, False),
    ],
)
def test_this_machine_is_known_by_its_loopback_addresses(peer: tuple[str, ...] | None, expected: bool) -> None:
    assert _side_port._is_this_machine(peer) is expected


async def test_who_says_nothing_or_too_much_gets_no_answer_and_holds_nobody_up(bench: Bench) -> None:
    async with listening(bench) as port, asyncio.timeout(WAIT_SECONDS):
        _, silent = await asyncio.open_connection("127.0.0.1", port)
        reader, talker = await asyncio.open_connection("127.0.0.1", port)
        talker.write(b"x" * 100_000)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        left_reader, left = await asyncio.open_connection("127.0.0.1", port)
        left.write(b"GET /livez HTT")
        left.close()
        assert await left_reader.read() == b""
        assert (await ask(port, "GET /livez"))[0] == 200
        silent.close()
        talker.close()


async def test_closing_does_not_wait_for_a_silent_connection(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_side_port, "_CLOSE_SECONDS", 0.01)
    before = asyncio.all_tasks()
    async with asyncio.timeout(WAIT_SECONDS):
        async with listening(bench) as port:
            reader, silent = await asyncio.open_connection("127.0.0.1", port)
            assert (await ask(port, "GET /livez"))[0] == 200
        assert await reader.read() == b""
        silent.close()
    assert asyncio.all_tasks() == before
    assert caplog.records == []


async def test_beyond_its_connections_it_hangs_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_side_port, "_MOST_CONNECTIONS", 1)
    monkeypatch.setattr(_side_port, "_CLOSE_SECONDS", 0.01)
    async with listening(bench) as port, asyncio.timeout(WAIT_SECONDS):
        first, keeps = await asyncio.open_connection("127.0.0.1", port)
        second, beyond = await asyncio.open_connection("127.0.0.1", port)
        assert await second.read() == b""
        beyond.close()
        keeps.write(b"GET /livez HTTP/1.0\r\n\r\n")
        assert (await first.read()).endswith(b"ok\n")
        keeps.close()


async def test_a_scrape_that_fails_is_answered_500_and_logged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(bench) as port:
        monkeypatch.setattr(bench.reporter, "measure", None)
        assert (await ask(port, "GET /metrics"))[0] == 500
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_without_a_port_nothing_listens_and_a_taken_or_wrong_one_is_refused(bench: Bench) -> None:
    async with side_port(bench.reporter, None) as address:
        assert address is None
    async with listening(bench) as port:
        with pytest.raises(BindError, match="another process listens on that port"):
            async with side_port(bench.reporter, SidePortConfig(port=port, host="127.0.0.1", remote_drain=False)):
                pass
    with pytest.raises(ConfigError, match="--http-listen: 65536"):
        SidePortConfig(port=65_536, host="127.0.0.1", remote_drain=False)
    with pytest.raises(ConfigError, match="--http-listen: the host"):
        SidePortConfig(port=0, host=" ", remote_drain=False)


async def test_it_listens_on_ipv6(bench: Bench) -> None:
    async with listening(bench, host="::1") as port:
        assert (await ask(port, "GET /livez", "::1"))[0] == 200

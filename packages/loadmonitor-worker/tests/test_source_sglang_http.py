"""SglangHttpSource against a real HTTP server: bounds, classification, connections, and the key that nobody else sees."""

import asyncio
import gzip
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

import pytest
from http_engine import Answer, HttpEngine, Writer, body, current, failure, http_engine, ok, response, undated

from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._verdict import Attempt
from loadmonitor_worker.errors import ConfigError, MissingExtraError, SourceUnavailableError
from loadmonitor_worker.sources import HttpReason, SglangHttpSource
from loadmonitor_worker.testing import ManualClock

NOW = 1_800_000_000_000
KEY = "sk-not-for-logs-0123456789"
GOOD = ok(body(current(0), current(1)))


@asynccontextmanager
async def source_of(
    engine: HttpEngine,
    *,
    api_key: str | None = None,
    timeout_ms: int = 5_000,
    dp_size: int | None = None,
    max_body_bytes: int = 4 * 1024 * 1024,
) -> AsyncIterator[SglangHttpSource]:
    source = SglangHttpSource(
        engine.url, api_key=api_key, timeout_ms=timeout_ms, dp_size=dp_size, max_body_bytes=max_body_bytes
    )
    async with aclosing(source):
        yield source


async def recovered(source: SglangHttpSource) -> None:
    """Pull until it works again; a busy machine may miss a short deadline once more."""
    while True:
        with suppress(SourceUnavailableError):
            assert len(await source.get_loads()) == 2
            return


async def test_the_core_section_is_asked_for_uncompressed_and_the_ranks_become_known() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as source:
        assert source.expected_dp_ranks() == frozenset()
        loads = await source.get_loads()
        assert [load.dp_rank for load in loads] == [0, 1]
        assert source.expected_dp_ranks() == {0, 1}
        assert source.stamped_by_receipt == frozenset()
        assert engine.targets == ["/v1/loads?include=core"]
        assert engine.headers[0]["accept-encoding"] == "identity"
        assert source.url == f"{engine.url}/v1/loads?include=core"


async def test_an_address_behind_a_path_is_kept() -> None:
    async with http_engine() as engine:
        engine.answers["/engines/7/v1/loads"] = GOOD
        source = SglangHttpSource(f"{engine.url}/engines/7/", timeout_ms=5_000)
        async with aclosing(source):
            assert len(await source.get_loads()) == 2


async def test_ranks_without_a_time_are_stamped_when_the_answer_has_arrived() -> None:
    clock = [NOW, NOW + 40]
    async with http_engine(ok(body(undated(0)))) as engine:
        source = SglangHttpSource(engine.url, timeout_ms=5_000, unix_ms=lambda: clock.pop(0))
        async with aclosing(source):
            [load] = await source.get_loads()
        assert load.snapshot_time_unix_ms == NOW + 40
        assert source.stamped_by_receipt == {0}


async def test_a_rank_that_is_told_twice_with_one_time_keeps_it_and_so_grows_older() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as source:
        assert await source.get_loads() == await source.get_loads()


async def test_the_number_of_ranks_follows_the_engine_unless_it_is_given() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as free, source_of(engine, dp_size=4) as held:
        await free.get_loads()
        assert held.expected_dp_ranks() == {0, 1, 2, 3}
        await held.get_loads()
        engine.tells(ok(body(current(0))))
        await free.get_loads()
        assert free.expected_dp_ranks() == {0}
        assert held.expected_dp_ranks() == {0, 1, 2, 3}


async def test_the_reporter_is_handed_a_complete_set_on_the_first_pull_and_refuses_one_below_the_given_number() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as free, source_of(engine, dp_size=3) as held:
        for source, error in ((free, None), (held, "rank 2 missing of the 3 expected ranks")):
            outcome: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
            puller = Puller(source, source.expected_dp_ranks, ManualClock(), budget_ms=1_000, clamp=False)
            puller.pull(outcome.set_result)
            assert (await outcome).error == error


async def test_one_connection_serves_pull_after_pull_and_ends_with_aclose() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as source:
        for _ in range(5):
            await source.get_loads()
        assert engine.connections == 1
        await source.aclose()
        await source.aclose()
        await engine.deserted()
        await source.get_loads()
        assert engine.connections == 2


def test_a_source_serves_one_event_loop_after_another_also_unclosed() -> None:
    source = SglangHttpSource("http://127.0.0.1:1", timeout_ms=5_000)

    async def pull(*, close: bool) -> int:
        async with http_engine(GOOD) as engine:
            source._http.url = f"{engine.url}/v1/loads"
            loads = await source.get_loads()
            if close:
                await source.aclose()
            else:
                # The connection must end with this loop, or it would be reported as leaked; the client stays.
                assert source._http._client is not None
                await source._http._client._transport.aclose()
            return len(loads)

    assert [asyncio.run(pull(close=close)) for close in (False, True, False, True)] == [2, 2, 2, 2]
    asyncio.run(source.aclose())


async def drip(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def drip_headers(writer: Writer) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Again: and again\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def never(_: Writer) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("answer", [drip, drip_headers, never], ids=["drip", "drip_headers", "never"])
async def test_the_deadline_holds_for_the_whole_answer_however_often_something_arrives(
    answer: Answer,
) -> None:
    async with http_engine(answer) as engine, source_of(engine, timeout_ms=150) as source:
        started = time.monotonic()
        error = await failure(source)
        assert 0.1 < time.monotonic() - started < 10
        assert error.reason == HttpReason.TIMEOUT
        assert "no complete answer within 150 ms" in str(error)
        engine.tells(GOOD)
        await recovered(source)


async def test_a_server_that_takes_no_connection_off_its_queue_is_a_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        source = SglangHttpSource(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout_ms=100)
        assert (await failure(source)).reason == HttpReason.TIMEOUT
        await source.aclose()


@pytest.mark.parametrize("answer", [drip, never, None], ids=["drip", "never", "tls"])
async def test_no_socket_is_left_by_pulls_that_ran_out_of_time(answer: Answer | None) -> None:
    async with http_engine(answer) as engine:
        # A server without TLS leaves a handshake waiting for the end of a request that never comes.
        url = engine.url if answer else engine.url.replace("http:", "https:")
        async with aclosing(SglangHttpSource(url, timeout_ms=100)) as source:
            while engine.connections < 3:
                assert (await failure(source)).reason == HttpReason.TIMEOUT
        await engine.deserted()


async def test_redirects_do_not_start_the_deadline_anew() -> None:
    async def slowly(writer: Writer) -> None:
        await asyncio.sleep(0.1)
        writer.write(response("307 Temporary Redirect", b"", "Location: /v1/loads"))

    async with http_engine(slowly) as engine, source_of(engine, timeout_ms=250) as source:
        assert (await failure(source)).reason == HttpReason.TIMEOUT


async def test_a_pull_that_is_cancelled_leaves_a_source_that_works() -> None:
    async with http_engine(never) as engine, source_of(engine) as source:
        pull = asyncio.ensure_future(source.get_loads())
        async with asyncio.timeout(5):
            while not engine.targets:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.001)
        pull.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pull
        engine.tells(GOOD)
        assert len(await source.get_loads()) == 2


@pytest.mark.parametrize("told", ["length", "chunks", "end"])
async def test_a_body_beyond_the_cap_is_left_unread(told: str) -> None:
    sent = 0

    async def flood(writer: Writer) -> None:
        nonlocal sent
        head = {"length": b"Content-Length: 1000000000\r\n", "chunks": b"Transfer-Encoding: chunked\r\n", "end": b""}
        writer.write(b"HTTP/1.1 200 OK\r\n" + head[told] + b"\r\n")
        while True:
            piece = b" " * 65_536
            writer.write(b"10000\r\n" + piece + b"\r\n" if told == "chunks" else piece)
            await writer.drain()
            sent += len(piece)

    async with http_engine(flood) as engine, source_of(engine, max_body_bytes=100_000) as source:
        error = await failure(source)
        assert error.reason == HttpReason.TOO_LARGE
        assert "more than 100000 bytes" in str(error)
        await engine.deserted()
        assert sent < 32 * 1024 * 1024


async def test_a_body_as_long_as_the_cap_is_read() -> None:
    content = body(current(0))
    async with http_engine(ok(content)) as engine:
        async with source_of(engine, max_body_bytes=len(content)) as enough:
            assert len(await enough.get_loads()) == 1
        async with source_of(engine, max_body_bytes=len(content) - 1) as short:
            assert (await failure(short)).reason == HttpReason.TOO_LARGE


async def test_a_gzip_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    async with http_engine(ok(bomb, "Content-Encoding: gzip")) as engine, source_of(engine) as source:
        assert (await failure(source)).reason == HttpReason.COMPRESSED


async def test_redirects_on_the_same_host_are_followed_three_times() -> None:
    start = response("307 Temporary Redirect", b"", "Location: /a?x=1")
    async with http_engine(start) as engine, source_of(engine, api_key=KEY) as source:
        engine.answers["/a"] = response("301 Moved Permanently", b"", f"Location: {engine.url}/b")
        engine.answers["/b"] = response("308 Permanent Redirect", b"", "Location: c")
        engine.answers["/c"] = GOOD
        assert len(await source.get_loads()) == 2
        assert engine.targets == ["/v1/loads?include=core", "/a?x=1", "/b", "/c"]
        assert {headers["authorization"] for headers in engine.headers} == {f"Bearer {KEY}"}
        engine.answers["/c"] = response("302 Found", b"", "Location: /d")
        engine.answers["/d"] = GOOD
        error = await failure(source)
        assert error.reason == HttpReason.TOO_MANY_REDIRECTS
        assert "/d" not in engine.targets


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{other}/v1/loads",
        "//127.0.0.1:{other}/v1/loads",
        "http://localhost:{own}/v1/loads",
        "https://127.0.0.1:{own}/v1/loads",
        "http://user:password@127.0.0.1:{own}/v1/loads",
        "ftp://127.0.0.1:{own}/v1/loads",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_off_the_host_is_not_followed_and_shows_nobody_the_key(location: str) -> None:
    async with http_engine() as engine, http_engine(GOOD) as other, source_of(engine, api_key=KEY) as source:
        ports = {"own": engine.url.rpartition(":")[2], "other": other.url.rpartition(":")[2]}
        engine.tells(response("302 Found", b"", f"Location: {location.format(**ports)}"))
        error = await failure(source)
        assert error.reason == HttpReason.REDIRECTED_OFF_HOST
        assert "password" not in str(error)
        assert other.connections == 0
        assert len(engine.targets) == 1


async def test_a_redirect_to_nowhere_is_told() -> None:
    async with (
        http_engine(response("302 Found", b"", "Location: http://h:port/")) as engine,
        source_of(engine) as source,
    ):
        error = await failure(source)
        assert error.reason == HttpReason.NOT_HTTP
        assert "Invalid URL in location header" in str(error)
        engine.tells(response("302 Found"))
        assert (await failure(source)).reason == HttpReason.HTTP_STATUS


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_nobody_listening_is_told_in_the_systems_words(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    source = SglangHttpSource(f"http://{host}:{port}", timeout_ms=5_000)
    error = await failure(source)
    assert error.reason == HttpReason.UNREACHABLE
    assert f"http://{host}:{port}/v1/loads?include=core can't be reached: Connection refused" in str(error)
    await source.aclose()


async def test_a_server_without_tls_under_https_is_told_in_the_words_of_tls() -> None:
    async with http_engine(GOOD) as engine:
        engine.greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n"
        async with aclosing(SglangHttpSource(engine.url.replace("http:", "https:"), timeout_ms=5_000)) as source:
            error = await failure(source)
        assert error.reason == HttpReason.UNREACHABLE
        assert "WRONG_VERSION_NUMBER" in str(error)


async def test_a_name_that_nobody_knows_is_unreachable() -> None:
    source = SglangHttpSource("http://engine.invalid:30000", timeout_ms=30_000)
    assert (await failure(source)).reason == HttpReason.UNREACHABLE
    await source.aclose()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000,
    ],
    ids=["nothing", "ssh", "http2", "short", "chunks", "headers"],
)
async def test_an_answer_that_breaks_off_or_is_no_http_is_told_so(sent: bytes) -> None:
    async def hang_up(writer: Writer) -> None:
        writer.write(sent)
        await writer.drain()
        writer.close()

    async with http_engine(hang_up) as engine, source_of(engine) as source:
        error = await failure(source)
        assert error.reason == HttpReason.NOT_HTTP
        assert len(str(error)) < 400


async def test_an_absent_route_is_remembered_for_10_s_and_then_asked_for_again() -> None:
    clock = NOW
    async with http_engine() as engine:
        source = SglangHttpSource(engine.url, timeout_ms=5_000, unix_ms=lambda: clock)
        async with aclosing(source):
            first = await failure(source)
            assert first.reason == HttpReason.ROUTE_ABSENT
            engine.tells(GOOD)
            clock = NOW + 9_999
            again = await failure(source)
            assert again.reason == HttpReason.ROUTE_ABSENT
            assert str(again) == f"{first} (asked again every 10 s)"
            assert len(engine.targets) == 1
            clock = NOW + 10_000
            assert len(await source.get_loads()) == 2


async def test_a_wall_clock_that_steps_back_does_not_prolong_the_memory() -> None:
    clock = NOW
    async with http_engine() as engine:
        source = SglangHttpSource(engine.url, timeout_ms=5_000, unix_ms=lambda: clock)
        async with aclosing(source):
            await failure(source)
            engine.tells(GOOD)
            clock = NOW - 3_600_000
            assert len(await source.get_loads()) == 2


@pytest.mark.parametrize(
    "answer",
    [
        response("401 Unauthorized"),
        response("500 Internal Server Error", b"x" * 100_000),
        response("503 Service Unavailable"),
        ok(b"{"),
        ok(b'{"loads":[]}'),
        ok(b'{"aggregate":{}}'),
        ok(b'[{"dp_rank":0,"num_reqs":3,"num_waiting_reqs":1,"num_tokens":900,"ts_tic":81234.5}]'),
    ],
    ids=["401", "500", "503", "bad_json", "no_ranks", "aggregate", "get_load"],
)
async def test_no_other_failure_is_remembered(answer: bytes) -> None:
    async with http_engine(answer) as engine, source_of(engine) as source:
        await failure(source)
        engine.tells(GOOD)
        assert len(await source.get_loads()) == 2


async def test_a_failed_pull_leaves_nothing_of_the_last_answer() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as source:
        await source.get_loads()
        engine.tells(ok(b'{"loads":[]}'))
        assert (await failure(source)).reason == HttpReason.NO_RANKS


async def test_the_key_is_sent_as_a_bearer_token_and_appears_nowhere_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.delenv("HTTPX_LOG_LEVEL", raising=False)
    echo = f'{{"you sent": "Bearer {KEY}"}}'.encode()
    shown: list[str] = []
    async with http_engine(GOOD) as engine, source_of(engine, api_key=KEY) as source:
        await source.get_loads()
        assert engine.headers[0]["authorization"] == f"Bearer {KEY}"
        shown += [repr(source), repr(source._http), source.url]
        for answer in (
            response("401 Unauthorized", echo),
            response("500 Internal Server Error", echo),
            ok(echo[:-1]),
            ok(b'{"loads":[],"x":"' + KEY.encode() + b"\xff"),
            ok(b'{"' + KEY.encode() * 2 + b'":1,"' + KEY.encode() * 2 + b'":2}'),
            ok(b'{"' + KEY.encode() + b'":[]}'),
        ):
            engine.tells(answer)
            source._absent = None
            error = await failure(source)
            shown += [str(error), repr(error), repr(error.__cause__)]
    assert caplog.text
    assert KEY not in "\n".join([*shown, caplog.text])


@pytest.mark.parametrize("key", [None, ""])
async def test_no_key_sends_no_header(key: str | None) -> None:
    async with http_engine(GOOD) as engine, source_of(engine, api_key=key) as source:
        await source.get_loads()
        assert "authorization" not in engine.headers[0]


@pytest.mark.parametrize("key", ["two words", "line\nfeed", "line\r\nX: y", " lead", "é", "\x7f", "nul\0"])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError, match="api_key holds a character") as caught:
        SglangHttpSource("http://127.0.0.1:30000", api_key=key)
    assert key not in str(caught.value)


async def test_proxies_and_credentials_of_the_environment_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / ".netrc"
    netrc.write_text("machine 127.0.0.1 login user password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with http_engine() as proxy, http_engine(GOOD) as engine:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        async with source_of(engine) as source:
            assert len(await source.get_loads()) == 2
        assert proxy.connections == 0
        assert "authorization" not in engine.headers[0]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:30000",
        "localhost:30000",
        "ftp://h:1",
        "http://",
        "http://:30000",
        "http://h:0",
        "http://h:65536",
        "http://h:30000?x=1",
        "http://h:30000/#f",
        "http://h\n:1",
        None,
        7,
    ],
)
def test_an_address_that_is_none_is_refused_and_the_right_form_named(url: object) -> None:
    with pytest.raises(ConfigError, match=r"engine_url=.* is not allowed: http://HOST:PORT"):
        SglangHttpSource(url)  # type: ignore[arg-type]


def test_a_user_and_password_in_the_address_are_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="give an API key instead") as caught:
        SglangHttpSource("http://user:secret@h:30000")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"dp_size": 0}, "dp_size=0"),
        ({"dp_size": 65_536}, "dp_size=65536"),
        ({"dp_size": True}, "dp_size=True"),
        ({"timeout_ms": 0}, "timeout_ms=0"),
        ({"timeout_ms": 0.5}, "timeout_ms=0.5"),
        ({"max_body_bytes": 0}, "max_body_bytes=0"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings: dict[str, int], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        SglangHttpSource("http://127.0.0.1:30000", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["http://h", "https://h/x", "http://[::1]:30000", "http://h:30000//"])
def test_addresses_of_every_allowed_form_are_taken(url: str) -> None:
    assert SglangHttpSource(url).url == url.rstrip("/") + "/v1/loads?include=core"


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"SglangHttpSource .*pip install 'loadmonitor-worker\[sglang\]'"):
        SglangHttpSource("http://127.0.0.1:30000")


def test_the_first_request_does_not_import_the_client_on_the_engines_loop() -> None:
    code = """
import asyncio, contextlib, sys
from loadmonitor_worker import SourceUnavailableError
from loadmonitor_worker.sources import SglangHttpSource

async def main():
    source = SglangHttpSource("http://127.0.0.1:1")
    before = set(sys.modules)
    with contextlib.suppress(SourceUnavailableError):
        await source.get_loads()
    print([name for name in set(sys.modules) - before if name.startswith(("httpcore", "anyio.streams.tls"))])

asyncio.run(main())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert shown.stdout == "[]\n"


def test_the_sources_are_imported_without_httpx() -> None:
    code = "import sys, loadmonitor_worker.sources; print('httpx' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert shown.stdout == "False\n"


async def test_a_source_that_was_used_by_a_reporter_is_closed_by_its_owner() -> None:
    async with http_engine(GOOD) as engine, source_of(engine) as source:
        reporter = await start_load_reporter(ReporterConfig(port=0), source)
        assert reporter is not None
        await source.get_loads()
        await reporter.close()
        assert engine.connected == 1
        await source.get_loads()
        assert engine.connections == 1

"""`serve` and `check` with an engine's HTTP server, and what `check` finds out about who fills the snapshot file."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from http_engine import HttpEngine, Writer, body, current, http_engine, ok, response, undated
from worker_process import run, serving

from loadmonitor_proto import ReportStatus as Status
from loadmonitor_worker.cli._filling import who_fills
from loadmonitor_worker.cli._options import closing, make_source
from loadmonitor_worker.cli._settings import SourceFlags, sidecar_settings
from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.sources import HttpReason, SglangHttpSource, SglangShmSource, SglangShmWriter
from loadmonitor_worker.testing import rank

KEY = "sk-not-for-logs-0123456789"


def now() -> float:
    return time.time_ns() // 1_000_000 / 1_000


async def answer_now(writer: Writer) -> None:
    writer.write(ok(body(current(0, now()), current(1, now()))))


async def check(*arguments: str) -> tuple[int, dict[str, tuple[bool, str]]]:
    """The exit code of `check`, and its hops by name."""
    ended = await asyncio.to_thread(run, "check", "--json", *arguments)
    assert ended.stderr == ""
    hops = [json.loads(line) for line in ended.stdout.splitlines()]
    return ended.returncode, {hop["hop"]: (hop["ok"], hop["detail"]) for hop in hops}


async def test_serve_reports_what_the_engine_answers_and_unreachable_when_it_stops(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    async with http_engine(answer_now) as engine:
        arguments = ("--source", "sglang-http", "--engine-url", engine.url, "--api-key-file", str(tmp_path / "key"))
        async with serving(*arguments) as (_, router):
            report = await router.report()
            assert report.status == Status.REPORT_STATUS_HEALTHY, report
            assert [(load.dp_rank, load.num_waiting_reqs) for load in report.ranks] == [(0, 22), (1, 22)]
            assert engine.headers[0]["authorization"] == f"Bearer {KEY}"
            engine.tells(response("503 Service Unavailable"))
            while (report := await router.report()).status == Status.REPORT_STATUS_HEALTHY:
                pass
            assert report.status == Status.REPORT_STATUS_UNREACHABLE
            assert "answered 503" in report.last_error
            assert not report.ranks
            engine.tells(answer_now)
            while (report := await router.report()).status != Status.REPORT_STATUS_HEALTHY:
                pass


async def test_serve_starts_before_its_engine() -> None:
    async with serving("--source", "sglang-http", "--engine-url", "http://127.0.0.1:1") as (_, router):
        report = await router.report()
        assert report.status == Status.REPORT_STATUS_UNREACHABLE
        assert "Connection refused: start the engine" in report.last_error


async def test_the_commands_close_a_source_that_holds_a_connection() -> None:
    async with http_engine(answer_now) as engine:
        source = make_source(sidecar_settings(SourceFlags(source="sglang-http", engine_url=engine.url)))
        async with closing(source):
            await source.get_loads()
            assert engine.connected == 1
        await engine.deserted()
        async with closing(None):
            pass


async def test_check_follows_an_engine_hop_by_hop() -> None:
    async with http_engine(answer_now) as engine:
        code, hops = await check("--source", "sglang-http", "--engine-url", engine.url)
    assert list(hops) == ["reporter", "read", "dated", "valid", "fresh"]
    assert all(good for good, _ in hops.values()), hops
    assert code == 0
    assert hops["read"][1].endswith(f" from {engine.url}/v1/loads?include=core")


async def test_check_says_when_only_the_arrival_dates_the_load() -> None:
    async with http_engine(ok(body(undated(0), undated(1)))) as engine:
        code, hops = await check("--source", "sglang-http", "--engine-url", engine.url)
    assert code == 0
    assert hops["dated"][0]
    assert hops["dated"][1] == (
        "ranks 0, 1 by the arrival of the answer, as the engine doesn't tell when it took them: if it hangs behind its HTTP "
        "server, nobody sees it; SGLang 0.5.23 tells"
    )


async def test_check_names_the_hop_that_fails() -> None:
    async with http_engine() as engine:
        for answer, failed, words in (
            (response("401 Unauthorized"), "read", "answered 401: give the engine's API key"),
            (response("404 Not Found"), "read", "answered 404: give the address of an SGLang engine"),
            (ok(body(current(0, now(), num_running_reqs=-1))), "valid", "num_running_reqs=-1"),
            (ok(body(current(0, 1_700_000_000.0))), "fresh", "or its clock and this machine's differ"),
        ):
            engine.tells(answer)
            code, hops = await check("--source", "sglang-http", "--engine-url", engine.url)
            assert code == 1
            assert list(hops)[-1] == failed
            assert hops[failed][0] is False
            assert words in hops[failed][1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--source", "sglang-http"], ["--source sglang-http", "--engine-url"]),
        (["--source", "sglang-http", "--engine-url", "h:1"], ["engine_url='h:1'"]),
        (["--source", "sglang-http", "--engine-url", "http://h:1", "--shm-path", "x"], ["--shm-path", "sglang-http"]),
        (["--source", "synthetic", "--engine-url", "http://h:1"], ["--engine-url", "--source synthetic"]),
        (["--source", "sglang-shm", "--api-key-file", "x"], ["--api-key-file", "--source sglang-shm"]),
        (["--source", "sglang-http", "--engine-url", "http://h:1", "--api-key-file", "/nowhere/key"], ["No such file"]),
        (["--source", "sglang-http", "--engine-url", "http://h:1", "--api-key-file", "/dev/null"], ["is empty"]),
        (["--source", "sglang-http", "--engine-url", "http://h:1", "--api-key-file", "/dev"], ["Is a directory"]),
    ],
)
@pytest.mark.parametrize("command", ["serve", "check"])
def test_flags_that_do_not_fit_are_named(command: str, arguments: list[str], named: list[str]) -> None:
    ended = run(command, *arguments)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert all(word in line for word in named), line


def test_serve_takes_no_engine_url_beside_shared_memory() -> None:
    ended = run("serve", "--source", "sglang-shm", "--engine-url", "http://h:1")
    assert ended.returncode == 2
    assert (
        "--engine-url belongs to --source sglang-http or vllm-metrics or sglang-metrics or mapping, not to --source sglang-shm"
        in ended.stderr
    )


def test_a_key_file_that_holds_no_header_text_is_refused_unseen(tmp_path: Path) -> None:
    for content in (b"two\nlines-secret\n", b"\xff\xfesecret"):
        (tmp_path / "key").write_bytes(content)
        ended = run(
            "check", "--source", "sglang-http", "--engine-url", "http://h:1", "--api-key-file", str(tmp_path / "key")
        )
        assert ended.returncode == 2
        assert "secret" not in ended.stderr
        assert len(ended.stderr.splitlines()) == 1


class ZmqModeEngine:
    """Two ranks whose snapshots wait until `/v1/loads` is asked for, and only then are written to the file."""

    def __init__(self, http: HttpEngine, path: Path, writers: list[SglangShmWriter]) -> None:
        self._writers = writers
        self.url = http.url
        self.path = path
        self.step(3_600)
        http.tells(self.answer)

    def step(self, seconds_ago: float = 0) -> list[float]:
        """Fill the file with what the ranks sent last."""
        times = [now() - seconds_ago] * 2
        for dp_rank, (writer, taken) in enumerate(zip(self._writers, times, strict=True)):
            writer.write(replace(rank(dp_rank), snapshot_time_unix_ms=round(taken * 1_000)))
        return times

    async def answer(self, writer: Writer) -> None:
        writer.write(ok(body(*(current(dp_rank, taken) for dp_rank, taken in enumerate(self.step())))))


@pytest.fixture
async def zmq_mode(tmp_path: Path) -> AsyncIterator[ZmqModeEngine]:
    async with AsyncExitStack() as stack:
        path = tmp_path / "sglang_loads_zmq.shm"
        writers = [stack.enter_context(SglangShmWriter(path, 2, dp_rank)) for dp_rank in (0, 1)]
        yield ZmqModeEngine(await stack.enter_async_context(http_engine()), path, writers)


@asynccontextmanager
async def sources(path: Path, url: str) -> AsyncIterator[tuple[SglangShmSource, SglangHttpSource]]:
    async with aclosing(SglangHttpSource(url, timeout_ms=5_000)) as http:
        yield SglangShmSource(path), http


async def test_check_tells_an_engine_that_fills_its_file_only_when_asked(zmq_mode: ZmqModeEngine) -> None:
    shm = ("--source", "sglang-shm", "--shm-path", str(zmq_mode.path))
    code, hops = await check(*shm)
    assert code == 1
    assert "--engine-url asks it whether it fills its file only when asked" in hops["fresh"][1]
    code, hops = await check(*shm, "--engine-url", zmq_mode.url)
    assert code == 1
    assert list(hops) == ["reporter", "read", "filled", "valid", "fresh"]
    assert not hops["filled"][0]
    assert hops["filled"][1] == (
        f"the file stood still for 2 s and moved when {zmq_mode.url}/v1/loads?include=core was asked: this engine fills its "
        "file only when it is asked (ZMQ mode): use --source sglang-http"
    )
    code, hops = await check("--source", "sglang-http", "--engine-url", zmq_mode.url)
    assert code == 0, hops


async def test_check_finds_a_file_that_its_engine_fills_good(zmq_mode: ZmqModeEngine) -> None:
    filling = asyncio.Event()

    async def fill() -> None:
        while True:
            zmq_mode.step()
            filling.set()
            await asyncio.sleep(0.02)

    filler = asyncio.ensure_future(fill())
    await filling.wait()
    code, hops = await check("--source", "sglang-shm", "--shm-path", str(zmq_mode.path), "--engine-url", zmq_mode.url)
    filler.cancel()
    assert code == 0, hops
    assert hops["filled"] == (True, "the engine fills its file without being asked")


async def test_a_standing_file_beside_a_moving_answer_is_another_engines(zmq_mode: ZmqModeEngine) -> None:
    async with http_engine(answer_now) as other, sources(zmq_mode.path, other.url) as (file, http):
        good, detail = await who_fills(file, http, standstill_seconds=0.1)
    assert not good
    assert "the file is another engine's: name this one's" in detail


@pytest.mark.parametrize("dated", [True, False])
async def test_when_neither_moves_the_scheduler_is_to_blame(zmq_mode: ZmqModeEngine, *, dated: bool) -> None:
    told = [(current if dated else undated)(dp_rank) for dp_rank in (0, 1)]
    async with http_engine(ok(body(*told))) as hung, sources(zmq_mode.path, hung.url) as (file, http):
        good, detail = await who_fills(file, http, standstill_seconds=0.1)
    assert not good
    assert "tells nothing newer: the engine's scheduler hangs or is paused" in detail


async def test_an_engine_that_does_not_answer_decides_nothing(zmq_mode: ZmqModeEngine) -> None:
    async with http_engine() as absent, sources(zmq_mode.path, absent.url) as (file, http):
        with pytest.raises(SourceUnavailableError) as caught:
            await who_fills(file, http, standstill_seconds=0.1)
        assert caught.value.reason == HttpReason.ROUTE_ABSENT
        code, hops = await check("--source", "sglang-shm", "--shm-path", str(zmq_mode.path), "--engine-url", absent.url)
    assert code == 1
    assert hops["filled"][0] is False
    assert "answered 404" in hops["filled"][1]

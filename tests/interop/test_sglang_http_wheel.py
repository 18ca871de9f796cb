"""SGLang's own `/v1/loads`, from the released wheel, asked by our source.

An isolated environment holds sglang 0.5.23 without its dependencies, and the few that the route needs. A subprocess serves
SGLang's v1_loads.py over uvicorn, behind SGLang's API key check, in front of SGLang's own readers and writers of load
snapshots, and says so in its first line. Stand-ins take the place of modules that would bring all of SGLang: they tell the
number of accelerators, hand the route its manager, and connect a ZeroMQ socket. The manager is one too: it reads all ranks, as
SGLang's does.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from loadmonitor_worker._validate import validate_ranks
from loadmonitor_worker._verdict import Attempt, ReportStatus, judge
from loadmonitor_worker.cli._filling import who_fills
from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import HttpReason, SglangHttpSource, SglangShmSource

# The first test of a fresh machine downloads a wheel of 39 MB.
pytestmark = pytest.mark.timeout(300)

SGLANG = "0.5.23"
REQUIREMENTS = ["msgspec==0.23.0", "fastapi==0.165.0", "uvicorn==0.54.0", "pyzmq==27.3.0", "orjson==3.13.0"]
STAND_INS = [
    "sglang.srt.entrypoints.http_server",
    "sglang.srt.environ",
    "sglang.srt.runtime_context",
    "sglang.srt.utils",
    "sglang.srt.utils.network",
]
KEY = "sk-interop"

SGLANG_SIDE = """
import importlib, importlib.metadata, json, platform, socket, sys, threading, time, types
from pathlib import Path

packages = Path(importlib.metadata.distribution("sglang").locate_file("sglang")).resolve()
arguments = json.loads(sys.argv[1])

def put(name, **content):
    module = types.ModuleType(name)
    vars(module).update(content)
    sys.modules[name] = module

class Manager:
    async def get_loads(self, include=None, dp_rank=None):
        return reader.read_all()

# Their __init__ files import all of SGLang; the files below them are found as usual.
for name in ("sglang", "sglang.srt", "sglang.srt.managers", "sglang.srt.entrypoints"):
    put(name, __path__=[str(packages.joinpath(*name.split(".")[1:]))])
parallel = types.SimpleNamespace(tp_size=8, pp_size=1, attn_dp_enabled=True, num_dp_ranks=arguments["dp_size"])
stand_ins = {
    "sglang.srt.environ": {"envs": None},
    "sglang.srt.runtime_context": {"get_parallel": lambda: parallel, "get_serving": None},
    "sglang.srt.utils": {"__path__": [str(packages / "srt" / "utils")], "get_device_name": lambda: "none"},
    "sglang.srt.utils.network": {
        "is_zmq_endpoint_ipv6": lambda endpoint: False,
        "restrict_zmq_peers": None,
        "zmq_connect": lambda socket, endpoint: socket.connect(endpoint),
    },
    "sglang.srt.entrypoints.http_server": {
        "get_global_state": lambda: types.SimpleNamespace(tokenizer_manager=Manager())
    },
}
for name, content in stand_ins.items():
    put(name, **content)
loaded = [importlib.import_module(name) for name in (
    "sglang.srt.entrypoints.v1_loads", "sglang.srt.managers.load_snapshot", "sglang.srt.utils.auth", "sglang.version"
)]
v1_loads, ls, auth, _ = loaded
for module in loaded:
    assert Path(module.__file__).resolve().is_relative_to(packages), module.__file__

path, dp_size = arguments["path"], arguments["dp_size"]
if arguments["endpoint"]:
    reader = ls.ZmqShmLoadSnapshotReader(arguments["endpoint"], path, dp_size)
    make = lambda rank: ls.ZmqLoadSnapshotWriter(arguments["endpoint"], dp_size, rank)
else:
    reader = ls.ShmLoadSnapshotReader(path, dp_size)
    make = lambda rank: ls.ShmLoadSnapshotWriter(path, dp_size, rank)
writers = {rank["dp_rank"]: make(rank["dp_rank"]) for rank in arguments["ranks"]}

def publish():
    for rank in arguments["ranks"]:
        if len(rank) > 1:
            stamp = {} if "timestamp" in rank else {"timestamp": time.time()}
            writers[rank["dp_rank"]].write(ls.LoadSnapshot(**rank, **stamp))

def publish_for_ever():
    while True:
        publish()
        time.sleep(0.02)

publish()
if arguments["again"]:
    threading.Thread(target=publish_for_ever, daemon=True).start()

import uvicorn
from fastapi import FastAPI

app = FastAPI()
app.include_router(v1_loads.router)
if arguments["api_key"]:
    auth.add_api_key_middleware(app, api_key=arguments["api_key"], admin_api_key=None)
listening = socket.create_server(("127.0.0.1", 0))
print(json.dumps({
    "sglang": importlib.metadata.version("sglang"),
    "files": [module.__file__ for module in loaded],
    "stand_ins": sorted(stand_ins),
    "python": platform.python_version(),
    "url": "http://127.0.0.1:%d" % listening.getsockname()[1],
}), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_keep_alive=5)).run(sockets=[listening])
"""

CORE: dict[str, float] = {
    "num_running_reqs": 11,
    "num_waiting_reqs": 22,
    "num_waiting_uncached_tokens": 33,
    "num_used_tokens": 44,
    "num_total_tokens": 55,
    "max_total_num_tokens": 66,
    "max_running_requests": 77,
    "token_usage": 0.25,
    "gen_throughput": 88.5,
    "cache_hit_rate": 0.5,
    "utilization": -1.0,
    "total_prefill_uncached_tokens": 99,
    "total_prefill_busy_us": 111,
}
TAKEN = 1_700_000_000.123456

Serve: TypeAlias = Callable[..., AbstractContextManager[str]]


def ours(dp_rank: int) -> RankSnapshot:
    """CORE as our source gives it."""
    return RankSnapshot(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=1_700_000_000_123,
        num_running_reqs=11,
        num_waiting_reqs=22,
        num_waiting_uncached_tokens=33,
        num_used_tokens=44,
        num_total_tokens=55,
        max_total_num_tokens=66,
        max_running_requests=77,
        token_usage=0.25,
        gen_throughput=88.5,
        cache_hit_rate=0.5,
        utilization=-1.0,
        prefill_uncached_tokens_total=99,
        prefill_busy_us_total=111,
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("sglang_http") / "environment"
    install = [os.environ.get("UV", "uv"), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    make = [os.environ.get("UV", "uv"), "venv", "--quiet", "--no-project", "--python", "3.11", str(folder)]
    for command in (make, [*install, "--no-deps", f"sglang=={SGLANG}"], [*install, *REQUIREMENTS]):
        subprocess.run(command, check=True, timeout=240)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang_loads_interop.shm"


@pytest.fixture
def serve(environment: Path, path: Path) -> Serve:
    """Run SGLang's route in front of its own readers and writers; the block is handed the address."""

    @contextmanager
    def serving(
        *ranks: dict[str, float],
        dp_size: int | None = None,
        again: bool = False,
        zmq: bool = False,
        api_key: str | None = None,
    ) -> Iterator[str]:
        arguments = {
            "ranks": ranks,
            "dp_size": dp_size or len(ranks),
            "again": again,
            "endpoint": f"ipc://{path.with_suffix('.sock')}" if zmq else None,
            "api_key": api_key,
            "path": str(path),
        }
        command = [str(environment / "bin" / "python"), "-I", "-W", "ignore", "-c", SGLANG_SIDE, json.dumps(arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                sys.stdout.write(line)
                ran = json.loads(line)
                assert (ran["sglang"], ran["stand_ins"]) == (SGLANG, STAND_INS)
                inside = [
                    Path(file).relative_to(environment).as_posix().partition("site-packages/")[2]
                    for file in ran["files"]
                ]
                assert inside == [
                    "sglang/srt/entrypoints/v1_loads.py",
                    "sglang/srt/managers/load_snapshot.py",
                    "sglang/srt/utils/auth.py",
                    "sglang/version.py",
                ]
                yield ran["url"]
            finally:
                process.kill()

    return serving


@asynccontextmanager
async def asking(
    url: str, *, dp_size: int | None = None, api_key: str | None = None
) -> AsyncIterator[SglangHttpSource]:
    async with aclosing(SglangHttpSource(url, dp_size=dp_size, api_key=api_key, timeout_ms=10_000)) as source:
        yield source


async def all_told(source: SglangHttpSource, ranks: int) -> bool:
    """Ask once: whether as many ranks have sent their load."""
    try:
        return len(await source.get_loads()) == ranks
    except SourceUnavailableError as error:
        if error.reason != HttpReason.NO_RANKS:
            raise
        return False


async def test_what_sglang_answers_is_read_in_every_field_and_dated_by_its_scheduler(serve: Serve) -> None:
    ranks = [CORE | {"timestamp": TAKEN, "dp_rank": rank} for rank in range(3)]
    with serve(*ranks) as url:
        async with asking(url) as source:
            assert list(await source.get_loads()) == [ours(rank) for rank in range(3)]
            assert source.expected_dp_ranks() == {0, 1, 2}
            assert source.stamped_by_receipt == frozenset()


async def test_a_rank_that_has_not_published_is_neither_dated_nor_fresh(serve: Serve) -> None:
    with serve(CORE | {"dp_rank": 0}, {"dp_rank": 1}, again=True) as url:
        async with asking(url) as source:
            ranks, _ = validate_ranks(await source.get_loads(), source.expected_dp_ranks(), clamp=False)
            verdict = judge(Attempt(ranks), now_unix_ms=time.time_ns() // 1_000_000, stale_after_ms=3_000)
            assert verdict.status is ReportStatus.STALE
            assert verdict.last_error == "rank 1 without a usable timestamp; rank 1 without a published capacity"


async def test_a_rank_that_sglang_leaves_out_is_missed_when_the_number_is_known(serve: Serve) -> None:
    with serve(CORE | {"dp_rank": 0}, dp_size=2, again=True) as url:
        async with asking(url, dp_size=2) as told:
            with pytest.raises(InvalidSnapshotError, match="rank 1 missing of the 2 expected ranks"):
                validate_ranks(await told.get_loads(), told.expected_dp_ranks(), clamp=False)
        async with asking(url) as untold:
            assert len(await untold.get_loads()) == 1


async def test_before_the_schedulers_started_sglang_tells_no_ranks(serve: Serve) -> None:
    with serve(dp_size=2) as url:
        async with asking(url) as source:
            with pytest.raises(SourceUnavailableError) as caught:
                await source.get_loads()
            assert caught.value.reason == HttpReason.NO_RANKS


async def test_sglangs_own_check_takes_our_key_and_refuses_none(serve: Serve) -> None:
    with serve(CORE | {"dp_rank": 0, "timestamp": TAKEN}, api_key=KEY) as url:
        async with asking(url, api_key=KEY) as right:
            assert list(await right.get_loads()) == [ours(0)]
        for key in (None, "another"):
            async with asking(url, api_key=key) as wrong:
                with pytest.raises(SourceUnavailableError) as caught:
                    await wrong.get_loads()
                assert caught.value.reason == HttpReason.UNAUTHORIZED


async def test_sglangs_file_in_zmq_mode_moves_only_when_sglang_is_asked(serve: Serve, path: Path) -> None:
    ranks = [CORE | {"dp_rank": rank} for rank in range(2)]
    with serve(*ranks, again=True, zmq=True) as url:
        async with asking(url, dp_size=2) as http:
            assert list(path.parent.glob("*.shm")) == []
            while not await all_told(http, 2):
                pass
            file = SglangShmSource(path)
            ok, detail = await who_fills(file, http, standstill_seconds=0.5)
            assert not ok
            assert "this engine fills its file only when it is asked (ZMQ mode): use --source sglang-http" in detail
            loads = await http.get_loads()
            verdict = judge(Attempt(loads), now_unix_ms=time.time_ns() // 1_000_000, stale_after_ms=3_000)
            assert verdict.status is ReportStatus.HEALTHY


async def test_sglangs_file_in_its_usual_mode_moves_by_itself(serve: Serve, path: Path) -> None:
    with serve(CORE | {"dp_rank": 0}, again=True) as url:
        async with asking(url) as http:
            assert await who_fills(SglangShmSource(path), http) == (
                True,
                "the engine fills its file without being asked",
            )


def test_sglang_has_no_get_load_any_more(environment: Path) -> None:
    [server] = environment.glob("lib/python*/site-packages/sglang/srt/entrypoints/http_server.py")
    assert "v1_loads_router" in server.read_text()
    assert "/get_load" not in server.read_text()

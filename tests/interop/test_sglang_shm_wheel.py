"""SGLang's own writer and reader, from the released wheel, against ours.

An isolated environment holds sglang 0.5.23 without its dependencies, and msgspec. Each subprocess loads SGLang's
load_snapshot.py from there, and says so in its first line. That module imports three others that would bring all of SGLang;
stand-ins take their place. None of them touches the file: they choose between shared memory and ZeroMQ, and serve ZeroMQ.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmSource, SglangShmWriter, ShmReason
from loadmonitor_worker.sources._shm_discovery import FILE_PATTERN, SGLANG_DIRECTORY

# The first test of a fresh machine downloads a wheel of 39 MB.
pytestmark = pytest.mark.timeout(300)

SGLANG = "0.5.23"
STAND_INS = ["sglang.srt.environ", "sglang.srt.runtime_context", "sglang.srt.utils.network"]

SGLANG_SIDE = """
import importlib, importlib.metadata, itertools, json, platform, sys, types
from pathlib import Path

packages = Path(importlib.metadata.distribution("sglang").locate_file("sglang")).resolve()

def put(name, **content):
    module = types.ModuleType(name)
    vars(module).update(content)
    sys.modules[name] = module

# Their __init__ files import all of SGLang; the files below them are found as usual.
for name in ("sglang", "sglang.srt", "sglang.srt.managers", "sglang.srt.utils"):
    put(name, __path__=[str(packages.joinpath(*name.split(".")[1:]))])
stand_ins = {
    "sglang.srt.environ": {"envs": None},
    "sglang.srt.runtime_context": {"get_parallel": None, "get_serving": None},
    "sglang.srt.utils.network": {"is_zmq_endpoint_ipv6": None, "restrict_zmq_peers": None, "zmq_connect": None},
}
for name, content in stand_ins.items():
    put(name, **content)
ls = importlib.import_module("sglang.srt.managers.load_snapshot")
assert Path(ls.__file__).resolve().is_relative_to(packages), ls.__file__
print(json.dumps({
    "sglang": importlib.metadata.version("sglang"),
    "file": ls.__file__,
    "stand_ins": sorted(stand_ins),
    "msgspec": importlib.metadata.version("msgspec"),
    "python": platform.python_version(),
}), flush=True)

def snapshot(fields):
    sections = {"memory": ls.MemoryMetrics, "speculative": ls.SpeculativeMetrics, "lora": ls.LoRAMetrics,
                "disaggregation": ls.DisaggregationMetrics, "queues": ls.QueueMetrics}
    return ls.LoadSnapshot(**{key: sections[key](*value) if key in sections else value for key, value in fields.items()})

command, arguments = sys.argv[1], json.loads(sys.argv[2])
if command == "path":
    print(json.dumps(ls.shm_path_for(arguments["ipc_name"])))
elif command == "write":
    for rank in arguments["ranks"]:
        writer = ls.ShmLoadSnapshotWriter(arguments["path"], arguments["dp_size"], rank.get("dp_rank", 0))
        if len(rank) > 1:
            writer.write(snapshot(rank))
elif command == "read":
    reader = ls.ShmLoadSnapshotReader(arguments["path"], arguments["dp_size"])
    print(json.dumps([load.to_dict() for load in reader.read_all()]))
elif command == "hammer":
    writers = [ls.ShmLoadSnapshotWriter(arguments["path"], arguments["dp_size"], r) for r in range(arguments["dp_size"])]
    for n in itertools.count(1):
        for rank, writer in enumerate(writers):
            writer.write(snapshot(
                {key: n for key in arguments["keys"]}
                | {"token_usage": 1 / n, "cache_hit_rate": 1 / n}  # shares
                | {"dp_rank": rank, "disaggregation": ["x" * (n % 7 * 300)]}
            ))
        if n == 1:
            print("writing", flush=True)
"""

CORE: dict[str, float] = {
    "timestamp": 1_700_000_000.123456,
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
    "utilization": 0.75,
    "total_prefill_uncached_tokens": 99,
    "total_prefill_busy_us": 111,
}
OTHER: dict[str, object] = {
    "num_active_tokens": 54,
    "num_prealloc_ready_tokens": 5,
    "decode_moments": [1.5] * 9,
    "memory": [60.1, 20.2, 3.3, 66],
    "speculative": [2.1, 0.8],
    "lora": [1, 2, 0.5],
    "disaggregation": ["decode", 0, 0, 1, 2, 3, 4.5, 6.5],
    "queues": [1, 2, 3, 4, 5],
}


def ours(dp_rank: int) -> RankSnapshot:
    """CORE as our reader gives it."""
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
        utilization=0.75,
        prefill_uncached_tokens_total=99,
        prefill_busy_us_total=111,
    )


class Sglang:
    """Runs SGLang's module in its environment."""

    def __init__(self, environment: Path) -> None:
        self._environment = environment

    @contextmanager
    def running(self, command: str, **arguments: object) -> Iterator["subprocess.Popen[str]"]:
        """Start a command; its first line has been checked and printed."""
        with subprocess.Popen(
            [self._environment / "bin" / "python", "-I", "-c", SGLANG_SIDE, command, json.dumps(arguments)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                sys.stdout.write(line)
                ran = json.loads(line)
                assert (ran["sglang"], ran["stand_ins"]) == (SGLANG, STAND_INS)
                loaded = Path(ran["file"]).relative_to(self._environment)
                assert loaded.parts[-5:] == ("site-packages", "sglang", "srt", "managers", "load_snapshot.py")
                yield process
            finally:
                process.kill()

    def run(self, command: str, **arguments: object) -> str:
        """Run a command to its end and return what it printed after its first line."""
        with self.running(command, **arguments) as process:
            # Not by communicate, which overlooks what came in together with the first line.
            assert process.stdout is not None
            out = process.stdout.read()
            assert process.wait(timeout=60) == 0
            return out


@pytest.fixture(scope="module")
def sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sglang]:
    environment = tmp_path_factory.mktemp("sglang") / "environment"
    uv = os.environ.get("UV", "uv")
    python = environment / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--no-project", "--python", "3.11", environment], check=True, timeout=240)
    requirements = [f"sglang=={SGLANG}", "msgspec==0.23.0"]
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", python, *requirements], check=True, timeout=240
    )
    yield Sglang(environment)
    shutil.rmtree(environment)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang_loads_interop.shm"


async def test_what_sglang_writes_is_read_by_ours_in_every_field(sglang: Sglang, path: Path) -> None:
    sglang.run("write", path=str(path), dp_size=3, ranks=[CORE | OTHER | {"dp_rank": rank} for rank in range(3)])
    source = SglangShmSource(path, dp_size=3)
    assert await source.get_loads() == [ours(rank) for rank in range(3)]
    assert source.expected_dp_ranks() == {0, 1, 2}


async def test_what_sglang_leaves_out_is_read_as_zero_and_a_prefill_workers_utilization_passes(
    sglang: Sglang, path: Path
) -> None:
    sglang.run("write", path=str(path), dp_size=1, ranks=[{"timestamp": 1_700_000_000.5, "utilization": -1.0}])
    assert await SglangShmSource(path).get_loads() == [
        RankSnapshot(
            dp_rank=0,
            snapshot_time_unix_ms=1_700_000_000_500,
            utilization=-1,
            prefill_uncached_tokens_total=0,
            prefill_busy_us_total=0,
        )
    ]


async def test_a_rank_of_sglang_that_has_not_published_is_told_apart_from_one_that_never_started(
    sglang: Sglang, path: Path
) -> None:
    sglang.run("write", path=str(path), dp_size=2, ranks=[{"dp_rank": 1}])
    with pytest.raises(SourceUnavailableError, match="rank 0 never written, of 2 ranks") as caught:
        await SglangShmSource(path).get_loads()
    assert caught.value.reason == ShmReason.RANK_NOT_STARTED
    sglang.run("write", path=str(path), dp_size=2, ranks=[CORE])
    published, silent = await SglangShmSource(path).get_loads()
    assert published == ours(0)
    assert (silent.snapshot_time_unix_ms, silent.max_total_num_tokens) == (None, 0)


def test_what_ours_writes_is_read_by_sglang_in_every_field(sglang: Sglang, path: Path) -> None:
    with SglangShmWriter(path, 2, 0) as first, SglangShmWriter(path, 2, 1) as second:
        first.write(ours(0), **OTHER)
        second.write(ours(1))
    first_load, second_load = json.loads(sglang.run("read", path=str(path), dp_size=2))
    core = CORE | {"timestamp": 1_700_000_000.123}
    assert first_load.items() >= (core | {"dp_rank": 0, "num_active_tokens": 54, "decode_moments": [1.5] * 9}).items()
    assert first_load["memory"] == {"weight_gb": 60.1, "kv_cache_gb": 20.2, "graph_gb": 3.3, "token_capacity": 66}
    assert list(first_load["queues"].values()) == [1, 2, 3, 4, 5]
    assert second_load.items() >= (core | {"dp_rank": 1, "num_active_tokens": 0, "decode_moments": None}).items()
    assert "memory" not in second_load


def test_the_same_loads_make_the_same_file_byte_for_byte(sglang: Sglang, path: Path) -> None:
    core = CORE | {"timestamp": 1_700_000_000.123}
    sglang.run("write", path=str(path), dp_size=3, ranks=[core, core | {"dp_rank": 2}, {"dp_rank": 1}])
    our_path = path.with_name("sglang_loads_ours.shm")
    with (
        SglangShmWriter(our_path, 3, 0) as first,
        SglangShmWriter(our_path, 3, 2) as third,
        SglangShmWriter(our_path, 3, 1),
    ):
        first.write(ours(0))
        third.write(ours(2))
    assert our_path.read_bytes() == path.read_bytes()
    assert our_path.stat().st_mode == path.stat().st_mode


async def test_another_number_of_ranks_is_refused_on_both_sides(sglang: Sglang, path: Path) -> None:
    sglang.run("write", path=str(path), dp_size=2, ranks=[CORE, CORE | {"dp_rank": 1}])
    with pytest.raises(SourceUnavailableError, match="has 2 ranks, expected are 4") as caught:
        await SglangShmSource(path, dp_size=4).get_loads()
    assert caught.value.reason == ShmReason.OTHER_DP_SIZE
    assert json.loads(sglang.run("read", path=str(path), dp_size=4)) == []
    assert len(json.loads(sglang.run("read", path=str(path), dp_size=2))) == 2


def test_sglangs_own_file_names_are_found(sglang: Sglang) -> None:
    for ipc_name in ("ipc:///tmp/tmp4x_k2a", "tcp://127.0.0.1:5555", ""):
        name = Path(json.loads(sglang.run("path", ipc_name=ipc_name)))
        assert name.parent == SGLANG_DIRECTORY
        assert fnmatchcase(name.name, FILE_PATTERN)


async def test_beside_sglangs_writer_that_never_rests_no_torn_value_is_read(sglang: Sglang, path: Path) -> None:
    keys = [key for key in CORE if key != "dp_rank"]
    pulls, failed, last = 5_000, 0, [0, 0]
    with sglang.running("hammer", path=str(path), dp_size=2, keys=keys) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        source = SglangShmSource(path)
        for _ in range(pulls):
            try:
                loads = await source.get_loads()
            except SourceUnavailableError as error:
                # A writer that gets no CPU time in mid-write looks like one that was stopped.
                assert error.reason in {ShmReason.LOCK_BUSY, ShmReason.TORN_SLOT}  # noqa: PT017
                failed += 1
                continue
            for rank, load in enumerate(loads):
                n = load.num_running_reqs
                assert load == RankSnapshot(
                    dp_rank=rank,
                    snapshot_time_unix_ms=n * 1_000,
                    num_running_reqs=n,
                    num_waiting_reqs=n,
                    num_waiting_uncached_tokens=n,
                    num_used_tokens=n,
                    num_total_tokens=n,
                    max_total_num_tokens=n,
                    max_running_requests=n,
                    token_usage=1 / n,
                    gen_throughput=n,
                    cache_hit_rate=1 / n,
                    utilization=n,
                    prefill_uncached_tokens_total=n,
                    prefill_busy_us_total=n,
                )
                assert n >= last[rank]
                last[rank] = n
        assert writer.poll() is None
    assert last[0] > 1_000
    assert failed < pulls / 20

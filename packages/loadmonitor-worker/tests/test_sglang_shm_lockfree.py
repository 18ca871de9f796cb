"""The source beside a writer in another process: no torn value is ever read, and no lock is ever in the engine's way."""

import asyncio
import fcntl
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmSource, SglangShmWriter, ShmReason

HAMMER = """
import itertools, sys
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmWriter
path, dp_size = sys.argv[1], int(sys.argv[2])
writers = [SglangShmWriter(path, dp_size, rank) for rank in range(dp_size)]
for n in itertools.count(1):
    for rank, writer in enumerate(writers):
        writer.write(
            RankSnapshot(
                dp_rank=rank, snapshot_time_unix_ms=n * 1_000, num_running_reqs=n, num_waiting_reqs=n,
                num_waiting_uncached_tokens=n, num_used_tokens=n, num_total_tokens=n, max_total_num_tokens=n,
                max_running_requests=n, token_usage=1 / n, gen_throughput=float(n), cache_hit_rate=1 / n,
                utilization=float(n), prefill_uncached_tokens_total=n, prefill_busy_us_total=n,
            ),
            note="x" * (n % 7 * 300),
        )
    if n == 1:
        print("writing", flush=True)
"""

# Stores into the mapped file as the engine's writer does, at the speed of memory: a map so long that copying it takes as long
# as storing it, and the lengths all alike, so that a single copy often holds the head of one map and the tail of another.
MEMORY_HAMMER = """
import itertools, mmap, msgspec, struct, sys
from loadmonitor_worker.sources import SglangShmWriter
SglangShmWriter(sys.argv[1], 1, 0).close()
payloads = []
for n in range(1_000_000, 1_000_500):
    payload = msgspec.msgpack.encode({
        "timestamp": float(n), "num_running_reqs": n, "note": "x" * 15_000, "num_waiting_reqs": n, "num_used_tokens": n
    })
    payloads.append(payload)
file = open(sys.argv[1], "r+b")
memory = mmap.mmap(file.fileno(), 0)
end = 16 + len(payloads[0])
length = struct.pack("<I", len(payloads[0]))
for n in itertools.count():
    memory[12:16] = bytes(4)
    memory[16:end] = payloads[n % 500]
    memory[12:16] = length
    if n == 0:
        print("writing", flush=True)
    for _ in range(600):
        pass
"""

READER = """
import asyncio, contextlib, mmap, sys
from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.sources import SglangShmSource
async def main():
    file = open(sys.argv[2], "r+b")
    counter = mmap.mmap(file.fileno(), 8)
    source = SglangShmSource(sys.argv[1])
    pulls = 0
    while True:
        # A writer that gets no CPU time in mid-write looks like one that was stopped.
        with contextlib.suppress(SourceUnavailableError):
            await source.get_loads()
        pulls += 1
        counter[:] = pulls.to_bytes(8, "little")
asyncio.run(main())
"""

STOPPED_WRITER = """
import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
os.pwrite(fd, bytes(4), 12)
os.pwrite(fd, b"half of", 16)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@contextmanager
def running(program: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_stopped(pid: int) -> None:
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang_loads_hammered.shm"


async def test_beside_a_writer_that_never_rests_no_torn_value_is_read(path: Path) -> None:
    pulls = 10_000
    failures: Counter[str] = Counter()
    last = [0, 0]
    with running(HAMMER, path, 2) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        source = SglangShmSource(path)
        for _ in range(pulls):
            try:
                loads = await source.get_loads()
            except SourceUnavailableError as error:
                failures[error.reason] += 1
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
    assert last[0] > 100
    # A writer that gets no CPU time in mid-write looks like one that was stopped; it must be rare all the same.
    assert failures.keys() <= {ShmReason.LOCK_BUSY, ShmReason.TORN_SLOT}
    assert failures.total() < pulls / 20


async def test_a_write_that_begins_while_a_slot_is_copied_is_noticed_by_the_second_copy(path: Path) -> None:
    seen: set[int] = set()
    with running(MEMORY_HAMMER, path) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        source = SglangShmSource(path)
        while len(seen) < 400:
            try:
                (load,) = await source.get_loads()
            except SourceUnavailableError:
                continue
            n = load.num_running_reqs
            assert (load.snapshot_time_unix_ms, load.num_waiting_reqs, load.num_used_tokens) == (n * 1_000, n, n)
            seen.add(n)
        assert writer.poll() is None


def test_a_reader_stopped_at_any_moment_holds_no_lock(path: Path, tmp_path: Path) -> None:
    counter_path = tmp_path / "pulls"
    counter_path.write_bytes(bytes(8))
    with (
        SglangShmWriter(path, 2, 0) as first,
        SglangShmWriter(path, 2, 1) as second,
        running(READER, path, counter_path) as reader,
        counter_path.open("rb") as counter_file,
        mmap.mmap(counter_file.fileno(), 8, access=mmap.ACCESS_READ) as counter,
        path.open("rb") as lock,
    ):
        for stop in range(400):
            before = counter[:]
            while counter[:] == before:
                assert reader.poll() is None
                first.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=stop))
                second.write(RankSnapshot(dp_rank=1, snapshot_time_unix_ms=stop))
            # Somewhere within one of the pulls that take it a few dozen microseconds each.
            until_ns = time.perf_counter_ns() + stop * 7_001 % 300_000
            while time.perf_counter_ns() < until_ns:
                pass
            os.kill(reader.pid, signal.SIGSTOP)
            wait_until_stopped(reader.pid)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.kill(reader.pid, signal.SIGCONT)
        assert struct.unpack("<Q", counter[:])[0] > 400


async def test_a_writer_stopped_in_mid_write_is_a_busy_lock_and_one_killed_there_a_torn_slot(path: Path) -> None:
    with SglangShmWriter(path, 1, 0) as engine, running(STOPPED_WRITER, path) as writer:
        await asyncio.to_thread(wait_until_stopped, writer.pid)
        source = SglangShmSource(path)
        started = time.monotonic()
        with pytest.raises(SourceUnavailableError, match="the file's lock is held") as caught:
            await source.get_loads()
        assert caught.value.reason == ShmReason.LOCK_BUSY
        assert time.monotonic() - started < 1
        writer.kill()
        writer.wait()
        with pytest.raises(SourceUnavailableError, match="nobody holds the file's lock") as caught:
            await source.get_loads()
        assert caught.value.reason == ShmReason.TORN_SLOT
        engine.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=1))
        assert len(await source.get_loads()) == 1

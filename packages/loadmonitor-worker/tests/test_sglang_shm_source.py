"""SglangShmSource with a given file: what it reads, and a word and a remedy for each way it can't."""

import asyncio
import fcntl
import os
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadmonitor_worker.errors import (
    ConfigError,
    InvalidSnapshotError,
    MissingExtraError,
    SourceError,
    SourceUnavailableError,
)
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmSource, SglangShmWriter, ShmReason
from loadmonitor_worker.sources._msgpack import msgpack_function
from loadmonitor_worker.sources._shm_layout import SlotFault
from loadmonitor_worker.sources._shm_reader import ShmFile

SLOT = 16_384
T0 = 1_700_000_000_123


def full(dp_rank: int) -> RankSnapshot:
    """A snapshot in which no two values are equal."""
    return RankSnapshot(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=T0 + dp_rank,
        num_running_reqs=11 + dp_rank,
        num_waiting_reqs=22,
        num_waiting_uncached_tokens=33,
        num_used_tokens=44,
        num_total_tokens=55,
        max_total_num_tokens=66,
        max_running_requests=77,
        token_usage=0.25,
        gen_throughput=88.5,
        cache_hit_rate=0.5,
        utilization=-1,
        prefill_uncached_tokens_total=99,
        prefill_busy_us_total=111,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang_loads_given.shm"


@pytest.fixture
def writers(path: Path) -> Iterator[list[SglangShmWriter]]:
    """Two ranks that have published."""
    with SglangShmWriter(path, 2, 0) as first, SglangShmWriter(path, 2, 1) as second:
        first.write(full(0))
        second.write(full(1))
        yield [first, second]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def poke(path: Path, offset: int, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, data, offset)
    os.close(fd)


def pull(source: SglangShmSource) -> Sequence[RankSnapshot]:
    return asyncio.run(source.get_loads())


def failure(source: SglangShmSource) -> SourceUnavailableError:
    with pytest.raises(SourceUnavailableError) as caught:
        pull(source)
    return caught.value


@contextmanager
def unprivileged() -> Iterator[int]:
    """Act as a user who isn't root, where the tests run as root."""
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65_534)
    try:
        yield os.geteuid()
    finally:
        os.seteuid(uid)


@pytest.mark.usefixtures("writers")
def test_every_published_value_is_read(path: Path) -> None:
    source = SglangShmSource(path)
    assert source.expected_dp_ranks() == frozenset()
    assert pull(source) == [full(0), full(1)]
    assert source.expected_dp_ranks() == {0, 1}
    assert source.path == path


@pytest.mark.usefixtures("writers")
def test_the_expected_ranks_are_known_at_once_when_the_number_is_given(path: Path) -> None:
    assert SglangShmSource(path, dp_size=2).expected_dp_ranks() == {0, 1}


def test_what_the_engine_leaves_out_is_a_real_zero_and_what_it_never_tells_is_unknown(path: Path) -> None:
    with SglangShmWriter(path, 1, 0) as writer:
        writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=T0))
        (load,) = pull(SglangShmSource(path))
    assert load == RankSnapshot(
        dp_rank=0, snapshot_time_unix_ms=T0, prefill_uncached_tokens_total=0, prefill_busy_us_total=0
    )
    assert load.prefill_throughput is None
    assert load.generated_tokens_total is None


def test_a_rank_that_has_not_published_yet_has_neither_time_nor_capacity(path: Path) -> None:
    with SglangShmWriter(path, 1, 0):
        (load,) = pull(SglangShmSource(path))
    assert (load.snapshot_time_unix_ms, load.max_total_num_tokens) == (None, 0)


def test_fields_that_are_not_known_are_ignored(path: Path) -> None:
    with SglangShmWriter(path, 1, 0) as writer:
        writer.write(full(0), decode_moments=[1.0] * 9, memory=[1.5, 2.5, 0.5, 7], added_by_a_later_release={"a": 1})
        assert pull(SglangShmSource(path)) == [full(0)]


@pytest.mark.parametrize("size", [400, 900, 1_100, 5_000, SLOT - 314])
def test_maps_longer_than_the_first_read_are_read_whole(path: Path, size: int) -> None:
    with SglangShmWriter(path, 2, 1) as other, SglangShmWriter(path, 2, 0) as writer:
        other.write(full(1))
        writer.write(full(0), note="x" * size)
        assert pull(SglangShmSource(path)) == [full(0), full(1)]


@pytest.mark.parametrize(
    ("key", "value"), [("num_running_reqs", "3"), ("token_usage", [1]), ("timestamp", True), ("utilization", "x")]
)
def test_a_value_of_the_wrong_type_names_rank_and_field(path: Path, key: str, value: object) -> None:
    with SglangShmWriter(path, 2, 0), SglangShmWriter(path, 2, 1) as writer:
        writer.write(full(1), **{key: value})
        with pytest.raises(InvalidSnapshotError, match=f"{key} of rank 1 is") as caught:
            pull(SglangShmSource(path))
    assert (caught.value.dp_rank, caught.value.field) == (1, key)


@pytest.mark.usefixtures("writers")
def test_a_slot_that_holds_another_rank_is_refused(path: Path) -> None:
    data = path.read_bytes()
    poke(path, 12, data[12 + SLOT :])
    with pytest.raises(InvalidSnapshotError, match="the slot of rank 0 holds rank 1") as caught:
        pull(SglangShmSource(path))
    assert (caught.value.dp_rank, caught.value.field) == (0, "dp_rank")


def test_no_file(path: Path) -> None:
    error = failure(SglangShmSource(path))
    assert error.reason == ShmReason.NO_FILE
    assert str(error) == f"there is no {path}: start the engine"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_refused_without_waiting_for_it(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    error = failure(SglangShmSource(path))
    assert error.reason == ShmReason.NO_FILE
    assert "is no regular file" in str(error)


def test_no_permission_names_the_mode_the_owner_and_who_asks() -> None:
    # Not under tmp_path, whose parents only its owner may enter.
    directory = Path(tempfile.mkdtemp())
    try:
        directory.chmod(0o755)
        path = directory / "sglang_loads_foreign.shm"
        SglangShmWriter(path, 1, 0).close()
        path.chmod(0o200)
        with unprivileged() as uid:
            error = failure(SglangShmSource(path))
            owner = path.stat().st_uid
        assert error.reason == ShmReason.PERMISSION
        assert str(error) == (
            f"{path} has mode 0200 and belongs to uid {owner}, this process runs as uid {uid}: run it as uid {owner}"
        )
        directory.chmod(0o600)
        with unprivileged() as uid:
            directory_error = failure(SglangShmSource(path))
        assert directory_error.reason == ShmReason.PERMISSION
        assert f"uid {uid}, which this process runs as, may not search the directory" in str(directory_error)
    finally:
        directory.chmod(0o700)
        shutil.rmtree(directory)


def test_a_failure_of_the_operating_system_is_told_in_its_words(path: Path) -> None:
    path.symlink_to(path)
    error = failure(SglangShmSource(path))
    assert error.reason == ShmReason.READ_FAILED
    assert "Too many levels of symbolic links" in str(error)


@pytest.mark.parametrize("content", [b"", b"SLNS", bytes(12 + SLOT)])
def test_a_file_that_its_engine_is_still_making_is_incomplete(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    error = failure(SglangShmSource(path))
    assert error.reason == ShmReason.INCOMPLETE_FILE
    assert "the engine is starting" in str(error)


@pytest.mark.usefixtures("writers")
def test_a_file_that_shrinks_between_pulls_is_incomplete_until_it_is_whole_again(path: Path) -> None:
    source = SglangShmSource(path)
    whole = path.read_bytes()
    pull(source)
    os.truncate(path, len(whole) - 1)
    error = failure(source)
    assert error.reason == ShmReason.INCOMPLETE_FILE
    assert f"{len(whole) - 1} of the {len(whole)} bytes that 2 ranks take" in str(error)
    path.write_bytes(whole)
    assert pull(source) == [full(0), full(1)]


@pytest.mark.usefixtures("writers")
def test_a_file_that_shrinks_within_a_pull_is_incomplete(path: Path) -> None:
    with ShmFile(path, msgpack_function("decode", "a test")) as file:
        file.check(2)
        os.truncate(path, 12 + SLOT + 100)
        slots = file.read_slots(range(2))
        assert isinstance(slots[0], dict)
        assert slots[1] is SlotFault.CUT_SHORT
        with pytest.raises(SourceUnavailableError, match="it was cut short") as caught:
            file.fail({1: SlotFault.CUT_SHORT}, tried_ms=50)
    assert caught.value.reason == ShmReason.INCOMPLETE_FILE


@pytest.mark.parametrize(
    ("offset", "data", "reason", "says"),
    [
        (0, b"ELF!", ShmReason.WRONG_MAGIC, "isn't a load snapshot file of SGLang"),
        (4, b"\x03\x00", ShmReason.OTHER_VERSION, "has layout version 3"),
        (12 + SLOT, struct.pack("<I", SLOT), ShmReason.OVERSIZED_SLOT, "rank 1 longer than a slot"),
        (12 + SLOT, struct.pack("<I", 2**31), ShmReason.OVERSIZED_SLOT, "rank 1 longer than a slot"),
        (12, struct.pack("<I", 0), ShmReason.TORN_SLOT, "rank 0 half written for"),
        (12 + SLOT, struct.pack("<I", 9), ShmReason.TORN_SLOT, "rank 1 not a MessagePack map for"),
        (16 + SLOT, b"\xc1", ShmReason.TORN_SLOT, "nobody holds the file's lock: the engine died while it wrote"),
    ],
)
@pytest.mark.usefixtures("writers")
def test_damage_has_its_word(path: Path, offset: int, data: bytes, reason: str, says: str) -> None:
    poke(path, offset, data)
    error = failure(SglangShmSource(path))
    assert error.reason == reason
    assert says in str(error)


@pytest.mark.usefixtures("writers")
def test_another_number_of_ranks_names_both_numbers(path: Path) -> None:
    error = failure(SglangShmSource(path, dp_size=4))
    assert error.reason == ShmReason.OTHER_DP_SIZE
    assert "has 2 ranks, expected are 4" in str(error)


def test_ranks_that_never_wrote_are_named_at_once(path: Path) -> None:
    with SglangShmWriter(path, 12, 1):
        error = failure(SglangShmSource(path))
    assert error.reason == ShmReason.RANK_NOT_STARTED
    assert "ranks 0, 2, 3, 4, 5, 6, 7, 8 and 3 more never written, of 12 ranks: the engine is starting" in str(error)


@pytest.mark.usefixtures("writers")
def test_a_rank_that_never_wrote_is_no_busy_lock_though_another_rank_is_writing(path: Path) -> None:
    poke(path, 12 + SLOT, bytes(SLOT))
    with path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (failure(SglangShmSource(path))).reason == ShmReason.RANK_NOT_STARTED


@pytest.mark.usefixtures("writers")
async def test_a_write_that_stands_still_under_its_lock_is_told_within_the_bound_while_the_loop_runs(
    path: Path,
) -> None:
    poke(path, 12, bytes(4))
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    with path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        turning = asyncio.ensure_future(turn())
        started = time.monotonic()
        with pytest.raises(SourceUnavailableError) as caught:
            await SglangShmSource(path).get_loads()
        took = time.monotonic() - started
        turning.cancel()
    assert caught.value.reason == ShmReason.LOCK_BUSY
    assert "rank 0 half written for" in str(caught.value)
    assert "the engine was stopped while it wrote, or gets no CPU time" in str(caught.value)
    assert 0.05 <= took < 1
    assert turns >= 3


async def test_a_write_that_ends_within_the_bound_is_read(path: Path, writers: list[SglangShmWriter]) -> None:
    poke(path, 12, bytes(4))
    reading = asyncio.ensure_future(SglangShmSource(path).get_loads())
    await asyncio.sleep(0)
    assert not reading.done()
    writers[0].write(full(0))
    assert await reading == [full(0), full(1)]


@pytest.mark.usefixtures("writers")
def test_whole_slots_are_read_though_the_lock_is_held_exclusively(path: Path) -> None:
    with path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert pull(SglangShmSource(path)) == [full(0), full(1)]


@pytest.mark.usefixtures("writers")
def test_asking_after_the_lock_leaves_it_free(path: Path) -> None:
    with ShmFile(path, msgpack_function("decode", "a test")) as file:
        with pytest.raises(SourceUnavailableError) as caught:
            file.fail({0: SlotFault.WRITING}, tried_ms=50)
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert caught.value.reason == ShmReason.TORN_SLOT


@pytest.mark.usefixtures("writers")
def test_a_file_replaced_under_its_name_is_read_anew_and_one_removed_is_no_file(path: Path) -> None:
    source = SglangShmSource(path)
    pull(source)
    newer = replace(full(0), snapshot_time_unix_ms=T0 + 60_000)
    with SglangShmWriter(path.with_suffix(".new"), 1, 0) as writer:
        writer.write(newer)
    path.with_suffix(".new").replace(path)
    assert pull(source) == [newer]
    assert source.expected_dp_ranks() == {0}
    path.unlink()
    assert (failure(source)).reason == ShmReason.NO_FILE


@pytest.mark.usefixtures("writers")
def test_neither_reading_nor_failing_leaves_a_file_open(path: Path) -> None:
    source = SglangShmSource(path)
    before = open_files()
    pull(source)
    for offset, data in ((12, bytes(4)), (4, b"\x09"), (0, b"nope")):
        poke(path, offset, data)
        failure(source)
    assert open_files() == before


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=12 + 2 * SLOT) | st.integers(0, 12 + 2 * SLOT),
    st.lists(st.tuples(st.integers(0, 40), st.binary(min_size=1, max_size=4))),
)
def test_no_content_of_the_file_raises_anything_but_a_source_error(
    path: Path, content: bytes | int, damage: list[tuple[int, bytes]]
) -> None:
    with SglangShmWriter(path, 2, 0) as first, SglangShmWriter(path, 2, 1) as second:
        first.write(full(0))
        second.write(full(1))
    if isinstance(content, int):
        os.truncate(path, content)
    else:
        path.write_bytes(content)
    for offset, data in damage:
        poke(path, offset, data)
    try:
        loads = pull(SglangShmSource(path))
    except SourceError:
        return
    assert [load.dp_rank for load in loads] == list(range(len(loads)))


@pytest.mark.parametrize("dp_size", [0, -1, 65_536, True])
def test_a_number_of_ranks_out_of_range_is_refused(dp_size: int) -> None:
    with pytest.raises(ConfigError, match=r"dp_size=.* is not allowed"):
        SglangShmSource(dp_size=dp_size)


def test_without_msgspec_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setitem(sys.modules, "msgspec.msgpack", None)
    for make in (SglangShmSource, lambda: SglangShmWriter(path, 1, 0)):
        with pytest.raises(MissingExtraError, match=r"loadmonitor-worker\[sglang\]") as caught:
            make()
        assert caught.value.extra == "sglang"
    assert not path.exists()

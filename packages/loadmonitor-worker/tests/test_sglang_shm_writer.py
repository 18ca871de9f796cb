"""SglangShmWriter: SGLang's file, made without SGLang."""

import stat
import struct
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmWriter

SLOT = 16_384


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sglang_loads_test.shm"


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def payload(path: Path, dp_rank: int) -> dict[str, object]:
    data = path.read_bytes()[12 + dp_rank * SLOT :][:SLOT]
    (length,) = struct.unpack_from("<I", data)
    assert data[4 + length :] == bytes(SLOT - 4 - length)
    fields: dict[str, object] = msgspec.msgpack.decode(data[4 : 4 + length])
    return fields


def test_the_file_is_made_with_the_engines_mode_size_and_header(path: Path) -> None:
    with SglangShmWriter(path, 3, 1):
        status = path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_size == 12 + 3 * SLOT
    assert status.st_blocks * 512 >= status.st_size
    assert path.read_bytes()[:12] == b"SLNS" + struct.pack("<HHI", 2, 3, SLOT)


def test_a_new_writer_says_that_its_rank_has_not_published_and_leaves_others_alone(path: Path) -> None:
    with SglangShmWriter(path, 2, 0), SglangShmWriter(path, 2, 1):
        assert payload(path, 0) == {}
        assert payload(path, 1) == {"dp_rank": 1}


def test_fields_at_their_default_are_left_out_and_the_rest_has_the_engines_names_and_order(path: Path) -> None:
    snapshot = RankSnapshot(
        dp_rank=0,
        snapshot_time_unix_ms=1_700_000_000_123,
        num_waiting_reqs=3,
        utilization=-1,
        gen_throughput=1.5,
        prefill_uncached_tokens_total=5,
        prefill_busy_us_total=None,
        generated_tokens_total=7,
    )
    with SglangShmWriter(path, 1, 0) as writer:
        writer.write(snapshot, decode_moments=[1.0])
    assert list(payload(path, 0).items()) == [
        ("timestamp", 1_700_000_000.123),
        ("num_waiting_reqs", 3),
        ("gen_throughput", 1.5),
        ("utilization", -1),
        ("total_prefill_uncached_tokens", 5),
        ("decode_moments", [1.0]),
    ]


def test_a_shorter_map_leaves_nothing_of_a_longer_one(path: Path) -> None:
    with SglangShmWriter(path, 1, 0) as writer:
        writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=1), note="x" * 5_000)
        writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=2))
    assert payload(path, 0) == {"timestamp": 0.002}


def test_another_ranks_snapshot_and_one_too_long_are_refused_and_change_nothing(path: Path) -> None:
    with SglangShmWriter(path, 2, 0) as writer:
        writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=1))
        before = path.read_bytes()
        with pytest.raises(ValueError, match="is rank 1's, this writer publishes rank 0"):
            writer.write(RankSnapshot(dp_rank=1, snapshot_time_unix_ms=2))
        with pytest.raises(ValueError, match=r"take \d+ bytes, a slot has 16380"):
            writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=2), note="x" * SLOT)
        assert path.read_bytes() == before


@pytest.mark.parametrize(("dp_size", "dp_rank"), [(0, 0), (2, 2), (2, -1), (65_536, 0)])
def test_a_rank_outside_the_number_of_ranks_is_refused(path: Path, dp_size: int, dp_rank: int) -> None:
    with pytest.raises(ValueError, match="is not allowed"):
        SglangShmWriter(path, dp_size, dp_rank)
    assert not path.exists()


def test_a_writer_that_can_not_start_leaves_no_file_open(path: Path) -> None:
    path.mkdir()
    before = open_files()
    with pytest.raises(IsADirectoryError):
        SglangShmWriter(path, 1, 0)
    assert open_files() == before


def test_a_write_that_fails_midway_leaves_the_slot_marked_as_half_written(path: Path) -> None:
    program = """
import resource, sys
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import SglangShmWriter
writer = SglangShmWriter(sys.argv[1], 1, 0)
writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
try:
    writer.write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=2))
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "only 24 of 16380 bytes could be written at offset 16\n"
    length, first = struct.unpack_from("<IB", path.read_bytes(), 12)
    assert (length, first) == (0, 0xDE)

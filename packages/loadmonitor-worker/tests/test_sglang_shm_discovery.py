"""Which file SglangShmSource reads when several engines have left theirs."""

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import (
    SglangShmSource,
    SglangShmWriter,
    ShmReason,
    ShmVerdict,
    inspect_candidates,
)

NOW = 1_800_000_000_000


class Directory:
    """A stand-in for /dev/shm with engines that publish when told to, under a clock that moves when told to."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self.now_ms = NOW
        self._stack = stack
        self._engines: dict[str, list[SglangShmWriter]] = {}

    def file(self, name: str) -> Path:
        return self.path / f"sglang_loads_{name}.shm"

    def start(self, name: str, *, dp_size: int = 1) -> None:
        """Start an engine now; its ranks have not published yet."""
        self._engines[name] = [
            self._stack.enter_context(SglangShmWriter(self.file(name), dp_size, rank)) for rank in range(dp_size)
        ]
        self.stamp(name)

    def stamp(self, name: str) -> None:
        os.utime(self.file(name), ns=(self.now_ms * 1_000_000, self.now_ms * 1_000_000))

    def publish(self, name: str, *, age_ms: int = 0, ranks: slice = slice(None)) -> None:
        for dp_rank, writer in list(enumerate(self._engines[name]))[ranks]:
            writer.write(RankSnapshot(dp_rank=dp_rank, snapshot_time_unix_ms=self.now_ms - age_ms))
        self.stamp(name)

    def source(self, *, dp_size: int | None = None) -> SglangShmSource:
        return SglangShmSource(directory=self.path, dp_size=dp_size, unix_ms=lambda: self.now_ms)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Directory]:
    with ExitStack() as stack:
        yield Directory(tmp_path, stack)


async def chosen(source: SglangShmSource) -> str:
    await source.get_loads()
    assert source.path is not None
    return source.path.stem.removeprefix("sglang_loads_")


async def failure(source: SglangShmSource) -> SourceUnavailableError:
    with pytest.raises(SourceUnavailableError) as caught:
        await source.get_loads()
    return caught.value


def leave(directory: Directory, name: str, *, age_ms: int, dp_size: int = 1) -> None:
    """Leave behind the file of an engine that published last `age_ms` ago."""
    directory.now_ms -= age_ms
    directory.start(name, dp_size=dp_size)
    directory.publish(name)
    directory.now_ms += age_ms


async def test_an_empty_directory_says_what_to_do(directory: Directory) -> None:
    (directory.path / "something_else.shm").write_bytes(b"")
    source = directory.source()
    error = await failure(source)
    assert error.reason == ShmReason.NO_FILE
    assert str(error) == (
        f"there is no sglang_loads_*.shm in {directory.path}: start SGLang, and share its /dev/shm with this process"
    )
    assert source.path is None
    assert source.expected_dp_ranks() == frozenset()


async def test_a_missing_directory_says_what_to_do(tmp_path: Path) -> None:
    error = await failure(SglangShmSource(directory=tmp_path / "nowhere"))
    assert error.reason == ShmReason.NO_FILE
    assert "mount the engine's /dev/shm there" in str(error)


async def test_an_engine_that_starts_later_is_found(directory: Directory) -> None:
    source = directory.source()
    assert (await failure(source)).reason == ShmReason.NO_FILE
    directory.start("engine", dp_size=2)
    directory.publish("engine")
    assert await chosen(source) == "engine"
    assert source.expected_dp_ranks() == {0, 1}


async def test_a_live_engine_is_chosen_over_leftovers_whatever_their_names(directory: Directory) -> None:
    leave(directory, "aaa", age_ms=11_000)
    leave(directory, "zzz", age_ms=60_000)
    directory.start("mmm")
    directory.publish("mmm", age_ms=9_900)
    assert await chosen(directory.source()) == "mmm"


async def test_one_live_rank_makes_a_file_live(directory: Directory) -> None:
    leave(directory, "old", age_ms=60_000, dp_size=2)
    directory.publish("old", ranks=slice(1, 2))
    leave(directory, "older", age_ms=12_000, dp_size=2)
    assert await chosen(directory.source()) == "old"


async def test_the_only_leftover_is_read_and_its_age_shows(directory: Directory) -> None:
    leave(directory, "old", age_ms=412_000)
    source = directory.source()
    (load,) = await source.get_loads()
    assert source.path == directory.file("old")
    assert load.snapshot_time_unix_ms == NOW - 412_000


async def test_of_several_leftovers_the_newest_is_read_and_its_age_is_said(
    directory: Directory, caplog: pytest.LogCaptureFixture
) -> None:
    leave(directory, "b", age_ms=30_000)
    leave(directory, "a", age_ms=70_000)
    leave(directory, "c", age_ms=50_000)
    source = directory.source()
    with caplog.at_level(logging.INFO, logger="loadmonitor_worker"):
        assert await chosen(source) == "b"
        directory.now_ms += 1_000
        assert await chosen(source) == "b"
    (record,) = caplog.records
    assert record.getMessage() == (
        f"reading {directory.file('b')}: newest timestamp is 30000 ms old; files in the directory: 3"
    )


async def test_a_starting_engine_is_chosen_over_an_older_leftover_but_not_over_a_newer_one(
    directory: Directory,
) -> None:
    leave(directory, "leftover", age_ms=60_000)
    directory.now_ms -= 20_000
    directory.start("starting")
    directory.now_ms += 20_000
    assert await chosen(directory.source()) == "starting"
    leave(directory, "later", age_ms=15_000)
    assert await chosen(directory.source()) == "later"


async def test_two_live_engines_are_an_error_that_lists_them(directory: Directory) -> None:
    leave(directory, "dead", age_ms=60_000)
    for name in ("one", "two"):
        directory.start(name)
        directory.publish(name)
    source = directory.source()
    error = await failure(source)
    assert error.reason == ShmReason.SEVERAL_LIVE
    assert f"2 engines publish in {directory.path}: {directory.file('one')}, {directory.file('two')}:" in str(error)
    assert source.path is None


async def test_of_two_live_engines_the_one_with_the_given_number_of_ranks_is_read(directory: Directory) -> None:
    for name, dp_size in (("one", 1), ("four", 4)):
        directory.start(name, dp_size=dp_size)
        directory.publish(name)
    assert await chosen(directory.source(dp_size=4)) == "four"


async def test_when_the_latest_file_can_not_be_read_its_reason_is_told_and_no_leftover_read(
    directory: Directory,
) -> None:
    leave(directory, "leftover", age_ms=60_000)
    directory.start("upgraded")
    with directory.file("upgraded").open("r+b") as file:
        file.seek(4)
        file.write(b"\x03")
    directory.stamp("upgraded")
    error = await failure(directory.source())
    assert error.reason == ShmReason.OTHER_VERSION
    assert "(latest of 2 files there, none of a live engine)" in str(error)


async def test_an_unreadable_file_does_not_hide_a_live_engine(directory: Directory) -> None:
    directory.start("live")
    directory.publish("live", age_ms=5_000)
    directory.file("junk").write_bytes(b"junk of someone else")
    os.mkfifo(directory.file("pipe"))
    assert await chosen(directory.source()) == "live"


async def test_a_restarted_engine_is_followed_once_the_old_file_stood_still(directory: Directory) -> None:
    directory.start("first")
    directory.publish("first")
    source = directory.source()
    assert await chosen(source) == "first"
    directory.start("second", dp_size=2)
    for _ in range(10):
        directory.now_ms += 1_000
        directory.publish("second")
        assert await chosen(source) == "first"
    directory.now_ms += 1
    assert await chosen(source) == "second"
    assert source.expected_dp_ranks() == {0, 1}


async def test_a_removed_file_is_left_at_once(directory: Directory) -> None:
    leave(directory, "second", age_ms=20_000)
    directory.start("first")
    directory.publish("first")
    source = directory.source()
    assert await chosen(source) == "first"
    directory.file("first").unlink()
    assert await chosen(source) == "second"
    directory.file("second").unlink()
    assert (await failure(source)).reason == ShmReason.NO_FILE
    assert source.path is None
    assert source.expected_dp_ranks() == {0}


async def test_while_the_file_stands_still_the_directory_is_searched_once_a_second(directory: Directory) -> None:
    leave(directory, "old", age_ms=60_000)
    source = directory.source()
    assert await chosen(source) == "old"
    directory.start("new")
    directory.now_ms += 999
    directory.publish("new")
    assert await chosen(source) == "old"
    directory.now_ms += 1
    assert await chosen(source) == "new"


async def test_a_wall_clock_that_steps_back_does_not_stop_the_search(directory: Directory) -> None:
    leave(directory, "old", age_ms=60_000)
    source = directory.source()
    assert await chosen(source) == "old"
    directory.now_ms -= 3_600_000
    directory.start("new")
    directory.publish("new")
    assert await chosen(source) == "new"


def test_every_file_is_inspected_with_its_verdict(directory: Directory) -> None:
    directory.start("a_live", dp_size=2)
    directory.publish("a_live", age_ms=250)
    leave(directory, "b_frozen", age_ms=412_000, dp_size=3)
    directory.start("c_silent")
    directory.start("d_odd")
    with directory.file("d_odd").open("r+b") as file:
        file.write(b"SLNS\x07\x00")
    directory.file("e_junk").write_bytes(b"junk of someone else")
    found = inspect_candidates(directory.path, NOW)
    assert [
        (candidate.path, candidate.verdict, candidate.dp_size, candidate.version, candidate.age_ms, candidate.reason)
        for candidate in found
    ] == [
        (directory.file("a_live"), ShmVerdict.LIVE, 2, 2, 250, None),
        (directory.file("b_frozen"), ShmVerdict.FROZEN, 3, 2, 412_000, None),
        (directory.file("c_silent"), ShmVerdict.SILENT, 1, 2, None, None),
        (directory.file("d_odd"), ShmVerdict.UNUSABLE, 1, 7, None, ShmReason.OTHER_VERSION),
        (directory.file("e_junk"), ShmVerdict.UNUSABLE, None, None, None, ShmReason.WRONG_MAGIC),
    ]
    assert all(str(candidate.path) in candidate.detail for candidate in found)


def test_an_odd_value_or_a_torn_slot_does_not_keep_a_file_from_being_inspected(directory: Directory) -> None:
    directory.start("odd", dp_size=3)
    directory.publish("odd")
    directory._engines["odd"][0].write(RankSnapshot(dp_rank=0, snapshot_time_unix_ms=NOW), timestamp="soon")
    with directory.file("odd").open("r+b") as file:
        file.seek(12 + 16_384)
        file.write(bytes(4))
    (candidate,) = inspect_candidates(directory.path, NOW)
    assert (candidate.verdict, candidate.age_ms) == (ShmVerdict.LIVE, 0)

"""Workers named once, and Workers named in a file that is rewritten."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from loadmonitor_router.discovery import FileDiscovery, StaticDiscovery, parse_worker_file
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError, WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.testing import ManualClock

pytestmark = pytest.mark.usefixtures("leaves_nothing")

ONE = WorkerTarget(url="http://a:30000", reporter="a:50061")
OTHER = WorkerTarget(url="http://b:30000", reporter="b:50061")


class Watched:
    """A file, the discovery that reads it, and the clock by which it does."""

    def __init__(self, path: Path, clock: ManualClock) -> None:
        self.path = path
        self.clock = clock
        self.discovery = FileDiscovery(path, clock=clock)

    def replace(self, text: str) -> None:
        """Write another file and rename it over this one."""
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.path)

    def error(self) -> str:
        """The discovery's last error, "" for none."""
        return self.discovery.last_error or ""

    async def look_again(self) -> None:
        """Let one more look happen that finds nothing new."""
        await self.clock.timer_within(1_000)
        self.clock.move(1_000)
        await self.clock.timer_within(1_000)


@pytest.fixture
def watched(tmp_path: Path, clock: ManualClock) -> Watched:
    return Watched(tmp_path / "workers", clock)


async def test_static_workers_are_told_once_and_until_closed_there_is_silence() -> None:
    discovery = StaticDiscovery(["http://b:30000", ONE])
    assert await anext(discovery) == (ONE, OTHER)
    waiting = asyncio.ensure_future(anext(discovery, None))
    await asyncio.sleep(0)
    assert not waiting.done()
    await discovery.aclose()
    assert await waiting is None
    assert discovery.last_error is None


def test_static_workers_are_checked_at_once() -> None:
    with pytest.raises(ConfigError, match="the scheme is missing"):
        StaticDiscovery(["a:30000"])
    with pytest.raises(WorkerListError, match="share the load reporter"):
        StaticDiscovery(["http://a:1", "http://a:2"])


async def test_a_file_is_told_at_once_and_again_only_when_its_workers_change(watched: Watched) -> None:
    watched.replace("http://a:30000\n")
    async with aclosing(watched.discovery) as discovery:
        assert await anext(discovery) == (ONE,)
        news = asyncio.ensure_future(anext(discovery))
        await watched.look_again()
        watched.replace("# the same\nhttp://a:30000@1  # a rank\n")
        await watched.look_again()
        assert not news.done()
        watched.replace('["http://b:30000", "http://a:30000"]')
        watched.clock.move(1_000)
        assert await news == (ONE, OTHER)
        assert discovery.last_error is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('["http://b:30000", "htt', "half-written"),
        ("http://b:30000\nhttp://c:30", "half-written: the last line, 'http://c:30', has no end"),
        ("", "empty"),
        (" \n", "empty"),
        ("{}", "an object, where a list of workers is expected"),
        ("b:30000\n", "the scheme is missing"),
        ("http://b:1\nhttp://b:2\n", "share the load reporter b:50061"),
    ],
)
async def test_a_bad_file_keeps_the_last_good_set_until_it_is_mended(watched: Watched, text: str, why: str) -> None:
    watched.replace("http://a:30000\n")
    async with aclosing(watched.discovery) as discovery:
        assert await anext(discovery) == (ONE,)
        news = asyncio.ensure_future(anext(discovery))
        await watched.clock.timer_within(1_000)
        watched.path.write_text(text)
        for _ in range(3):  # the fault is told for as long as it stands
            await watched.look_again()
            assert why in watched.error()
            assert str(watched.path) in watched.error()
        assert not news.done()
        watched.replace("http://b:30000\n")
        watched.clock.move(1_000)
        assert await news == (OTHER,)
        assert not watched.error()


async def test_a_file_that_goes_and_comes_back_changes_nothing_but_the_error(watched: Watched) -> None:
    watched.replace("http://a:30000\n")
    async with aclosing(watched.discovery) as discovery:
        assert await anext(discovery) == (ONE,)
        news = asyncio.ensure_future(anext(discovery))
        await watched.clock.timer_within(1_000)
        watched.path.unlink()
        await watched.look_again()
        assert watched.error() == f"{watched.path} can't be read: No such file or directory"
        watched.replace("http://a:30000\n")
        await watched.look_again()
        assert not watched.error()
        assert not news.done()
        news.cancel()


async def test_a_file_may_come_later(watched: Watched) -> None:
    async with aclosing(watched.discovery) as discovery:
        news = asyncio.ensure_future(anext(discovery))
        await watched.look_again()
        assert watched.error()
        watched.replace("[]")
        watched.clock.move(1_000)
        assert await news == ()


async def test_a_file_of_the_same_size_and_time_with_another_inode_is_read(watched: Watched) -> None:
    watched.replace("http://a:30000\n")
    times = watched.path.stat()
    async with aclosing(watched.discovery) as discovery:
        assert await anext(discovery) == (ONE,)
        watched.replace("http://b:30000\n")
        os.utime(watched.path, ns=(times.st_atime_ns, times.st_mtime_ns))
        watched.clock.move(1_000)
        assert await anext(discovery) == (OTHER,)


async def test_a_cancelled_wait_loses_nothing(watched: Watched) -> None:
    watched.replace("http://a:30000\n")
    async with aclosing(watched.discovery) as discovery:
        for turns in range(4):
            waiting = asyncio.ensure_future(anext(discovery))
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
            if not waiting.cancelled():  # the file was read before the wait could be cancelled
                assert waiting.result() == (ONE,)
                return
        assert await anext(discovery) == (ONE,)


async def test_closing_ends_a_wait(watched: Watched) -> None:
    watched.replace("http://a:30000\n")
    assert await anext(watched.discovery) == (ONE,)
    waiting = asyncio.ensure_future(anext(watched.discovery, None))
    await watched.clock.timer_within(1_000)
    await watched.discovery.aclose()
    assert await waiting is None


def test_a_file_of_objects_names_reporters_and_types() -> None:
    content = b'[{"url": "http://a:30000", "reporter": "a:7", "worker_type": "decode"}, {"url": "http://b:30000"}]'
    expected = WorkerTarget(url="http://a:30000", reporter="a:7", worker_type=WorkerType.DECODE)
    assert parse_worker_file(content, 50_061) == (expected, OTHER)


def test_no_workers_must_be_said() -> None:
    assert parse_worker_file(b"[]", 50_061) == ()
    assert parse_worker_file(b"# none today\n", 50_061) == ()
    with pytest.raises(WorkerListError, match="write \\[\\]"):
        parse_worker_file(b"\n", 50_061)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(WorkerListError, match="not UTF-8: invalid start byte at byte 0"):
        parse_worker_file(b"\xff\xfe", 50_061)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_an_interval_of_nothing_is_refused(seconds: float) -> None:
    with pytest.raises(ConfigError, match="interval_seconds"):
        FileDiscovery("workers", interval_seconds=seconds)


def test_every_error_is_one_of_the_package() -> None:
    with pytest.raises(LoadMonitorRouterError, match="reporter_port=0 is not a TCP port"):
        FileDiscovery("workers", reporter_port=0)

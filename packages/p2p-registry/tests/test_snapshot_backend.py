"""The embedded store with a file keeps the rules that every store keeps, and never loses a file that it has."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from backend_conformance import NOW_MS, SOURCE, BackendConformance, key, record, state

from p2p_registry import Backend, BackendError, SnapshotBackend, open_backend
from p2p_registry.snapshot import read_snapshot


class TestSnapshotBackend(BackendConformance):
    """Two replicas in one process share one object."""

    @pytest.fixture(autouse=True)
    async def _store(self, tmp_path: Path) -> AsyncIterator[None]:
        self._path = tmp_path / "registry"
        self._backend = await SnapshotBackend.open(self._path)
        yield
        await self._backend.aclose()

    async def open(self) -> Backend:
        return self._backend

    async def reopen(self) -> Backend:
        self._backend = await SnapshotBackend.open(self._path)
        return self._backend

    async def lose(self) -> Backend:
        await self._backend.aclose()
        self._path.unlink()
        return await self.reopen()


class Pause:
    """A sleep that ends when the test says so, and tells how often one began."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self._end = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.begun.release()
        await self._end.acquire()

    async def let_pass(self) -> None:
        """Let one pause end, and return when the next one has begun."""
        self._end.release()
        await self.begun.acquire()


def _content(path: Path) -> bytes:
    return path.read_bytes()


def _number(path: Path) -> int:
    """Return what tells the file from one that replaces it."""
    return path.stat().st_ino


def _permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture
def pause() -> Pause:
    return Pause()


@pytest.fixture
async def backend(path: Path, pause: Pause) -> AsyncIterator[SnapshotBackend]:
    opened = await SnapshotBackend.open(path, sleep=pause)
    await pause.begun.acquire()
    yield opened
    # Once more, now that tests have put back what they broke.
    await opened.aclose()


async def test_what_changed_is_saved_after_the_interval(path: Path, pause: Pause, backend: SnapshotBackend) -> None:
    await backend.publish(record())
    assert read_snapshot(path) == []
    await pause.let_pass()
    assert read_snapshot(path) == [record()]


async def test_nothing_is_written_while_nothing_changes(path: Path, pause: Pause, backend: SnapshotBackend) -> None:
    await backend.publish(record())
    await pause.let_pass()
    # Open, so that no other file gets its number.
    with await asyncio.to_thread(path.open):
        written = _number(path)
        await pause.let_pass()
        assert _number(path) == written
        await backend.update_state(key(), state())
        await pause.let_pass()
        assert _number(path) != written


async def test_a_killed_process_leaves_the_last_save(path: Path, pause: Pause, backend: SnapshotBackend) -> None:
    await backend.publish(record(key("saved")))
    await pause.let_pass()
    await backend.publish(record(key("not yet")))
    # As left by a process that ended while it wrote.
    path.with_name("registry.new").write_text("half of a snap")

    after = await SnapshotBackend.open(path)
    assert [summary.key.worker_id for summary in await after.summaries(None)] == ["saved"]
    await after.aclose()


async def test_a_save_that_fails_leaves_the_old_file_and_shows_in_the_ping_until_one_succeeds(
    path: Path, pause: Pause, backend: SnapshotBackend, caplog: pytest.LogCaptureFixture
) -> None:
    await backend.publish(record())
    await pause.let_pass()
    await backend.ping()
    old = _content(path)
    # A folder where the new file would be written: fails for root, too.
    blocked = path.with_name("registry.new")
    blocked.mkdir()
    await backend.update_state(key(), state(source_load=0.5))
    await pause.let_pass()

    assert _content(path) == old
    assert "registry can't be written: Is a directory; tried again in 5 s" in caplog.text
    with pytest.raises(BackendError, match="can't be written"):
        await backend.ping()
    with pytest.raises(BackendError, match="can't be written"):
        await backend.save()

    blocked.rmdir()
    await pause.let_pass()
    await backend.ping()
    assert [saved.summary.state for saved in read_snapshot(path)] == [state(source_load=0.5)]


async def test_a_disk_that_fills_up_while_it_is_written_leaves_the_old_file(
    path: Path, pause: Pause, backend: SnapshotBackend
) -> None:
    await backend.publish(record())
    await pause.let_pass()
    old = _content(path)
    path.with_name("registry.new").symlink_to("/dev/full")
    await backend.publish(record(key("another")))
    with pytest.raises(BackendError, match="No space left on device"):
        await backend.save()
    assert _content(path) == old
    path.with_name("registry.new").unlink()


async def test_a_save_in_flight_is_followed_by_that_of_the_closing(path: Path) -> None:
    backend = await SnapshotBackend.open(path)
    await backend.publish(record(key("first")))
    saving = asyncio.create_task(backend.save())
    await asyncio.sleep(0)
    await backend.publish(record(key("last")))
    saving.cancel()
    await backend.aclose()
    assert {saved.summary.key.worker_id for saved in read_snapshot(path)} == {"first", "last"}


def _cut(content: bytes) -> bytes:
    return content[:-20]


def _flip(content: bytes) -> bytes:
    return content.replace(b"cuda", b"cudb")


def _other_version(content: bytes) -> bytes:
    return content.replace(b'"version": 1', b'"version": 2')


def _text(content: bytes) -> bytes:
    return b"[]" + content


def _empty(content: bytes) -> bytes:
    return content[:0]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_cut, "it is damaged or cut short: its 1 records don't have the digest that it names"),
        (_flip, "it is damaged or cut short"),
        (_other_version, "it is of version 2, and this release reads version 1"),
        (_text, "it doesn't begin as a snapshot"),
        (_empty, "it doesn't begin as a snapshot"),
    ],
)
async def test_a_spoilt_file_is_refused_and_left_as_it_is(path: Path, spoil: object, complaint: str) -> None:
    backend = await SnapshotBackend.open(path)
    await backend.publish(record())
    await backend.aclose()
    assert callable(spoil)
    spoilt = spoil(_content(path))
    await asyncio.to_thread(path.write_bytes, spoilt)

    with pytest.raises(BackendError, match=complaint) as caught:
        await open_backend(f"memory://{path}")
    assert "restore it, or move it away" in str(caught.value)
    assert _content(path) == spoilt
    assert _names(path.parent) == ["registry", "registry.lock"]


async def test_a_folder_that_is_absent_is_found_at_the_opening(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="absent/registry can't be written: No such file or directory"):
        await SnapshotBackend.open(tmp_path / "absent" / "registry")


async def test_a_folder_in_place_of_the_file_is_found_at_the_opening(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="can't be read: Is a directory"):
        await SnapshotBackend.open(tmp_path)


async def test_a_file_is_one_process_at_a_time(path: Path) -> None:
    program = "import asyncio, sys, p2p_registry as r; asyncio.run(r.open_backend('memory://' + sys.argv[1]))"

    async def other() -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, path, stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
        return process.returncode, said.decode()

    backend = await SnapshotBackend.open(path)
    await backend.publish(record())
    returncode, said = await other()
    assert returncode == 1
    assert "registry belongs to another process that runs: give each its own file" in said
    await backend.aclose()
    assert await other() == (0, "")
    assert read_snapshot(path) == [record()]


async def test_the_file_is_readable_by_its_owner_alone_and_says_what_it_is(path: Path) -> None:
    backend = await SnapshotBackend.open(path)
    await backend.publish(record())
    await backend.aclose()
    assert _permissions(path) == 0o600
    head, line = _content(path).splitlines()
    assert {**json.loads(head), "sha256": ""} == {
        "format": "p2p-registry snapshot",
        "version": 1,
        "records": 1,
        "sha256": "",
    }
    assert json.loads(line)["key"] == {"source_id": SOURCE, "worker_id": "w", "worker_rank": 0}
    assert json.loads(line)["state"] == {"status": 1, "updated_at_ms": NOW_MS, "source_load": None}

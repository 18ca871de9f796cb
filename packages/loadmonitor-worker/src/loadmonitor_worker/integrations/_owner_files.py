"""The files by which processes agree on one owner, and tell it the rank set and the engine's state."""

import fcntl
import json
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from loadmonitor_worker._ranks import checked_ranks
from loadmonitor_worker.integrations._fork import in_forked_children
from loadmonitor_worker.state import WorkerState


class OwnerFiles:
    """A directory on a local disk that belongs to one engine: `owner.lock`, `members.lock`, `ranks.json` and `state`.

    Locks are flock's: the kernel frees them when their process dies, however it does. A forked child closes its copies, which
    would hold them further.

    Args:
        directory: The directory; made, for this user only, when it isn't there.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ranks_path = directory / "ranks.json"
        self._state_path = directory / "state"

    @contextmanager
    def member(self) -> Iterator[None]:
        """Take part while the block runs; whoever finds nobody else forgets the ranks and the state that an earlier engine left.

        Raises:
            OSError: The directory can't be made or written.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _open(self._directory / "members.lock") as fd:
            if _lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB):
                self._ranks_path.unlink(missing_ok=True)
                self._state_path.unlink(missing_ok=True)
            fcntl.flock(fd, fcntl.LOCK_SH)
            yield

    @contextmanager
    def owner(self) -> Iterator[bool]:
        """Hold the owner's lock while the block runs; the block gets False when somebody else holds it."""
        with _open(self._directory / "owner.lock") as fd:
            yield _lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def publish_ranks(self, dp_ranks: Collection[int]) -> None:
        """Replace the rank set for the present owner and those to come, at once and as a whole.

        Raises:
            ConfigError: No ranks, or one that isn't an integer of at least 0.
        """
        self._publish(self._ranks_path, json.dumps(sorted(checked_ranks(dp_ranks))))

    def ranks(self) -> frozenset[int] | None:
        """Return the rank set that was published last, or None when none was."""
        try:
            return frozenset(json.loads(self._ranks_path.read_text()))
        except FileNotFoundError:
            return None

    def publish_state(self, state: WorkerState) -> None:
        """Replace the engine's state for the present owner and those to come."""
        # The time makes a state that is told again differ from the one that was told before.
        self._publish(self._state_path, f"{state} {time.time_ns()} {os.getpid()}")

    def state(self) -> str | None:
        """Return the state that was published last as the first word of a text that is new each time, or None when none was."""
        try:
            return self._state_path.read_text()
        except FileNotFoundError:
            return None

    @staticmethod
    def _publish(path: Path, text: str) -> None:
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_text(text)
        new.replace(path)


@contextmanager
def _open(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        with in_forked_children(lambda: os.close(fd)):
            yield fd
    finally:
        os.close(fd)


def _lock(fd: int, operation: int) -> bool:
    try:
        fcntl.flock(fd, operation)
    except BlockingIOError:
        return False
    return True

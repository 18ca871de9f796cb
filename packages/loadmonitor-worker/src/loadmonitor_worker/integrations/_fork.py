"""What a forked child must let go of: it inherits open files and sockets, which outlive the parent in it."""

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_in_child: dict[object, Callable[[], None]] = {}


def _run_in_child() -> None:
    callbacks = list(_in_child.values())
    _in_child.clear()
    for callback in callbacks:
        with suppress(OSError):
            callback()


os.register_at_fork(after_in_child=_run_in_child)


@contextmanager
def in_forked_children(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` in every child that is forked while the block runs, an OSError of it is ignored there."""
    key = object()
    _in_child[key] = callback
    try:
        yield
    finally:
        _in_child.pop(key, None)


def detach_sockets(port: int) -> None:
    """Put /dev/null in the place of every TCP socket of this process whose own port is `port`.

    Otherwise a child keeps its dead parent's port taken, and its parent's routers connected to nobody. (grpcio closes them itself
    since 1.80, where its fork support is on.) The numbers stay in use, so that gRPC, which still knows them, can't close
    somebody else's file.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        for fd in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
            with suppress(OSError):
                if _local_port(fd) == port:
                    os.dup2(null, fd, inheritable=False)
    finally:
        os.close(null)


def _local_port(fd: int) -> int | None:
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return None
    with socket.socket(fileno=os.dup(fd)) as copy:
        return int(copy.getsockname()[1]) if copy.family in (socket.AF_INET, socket.AF_INET6) else None

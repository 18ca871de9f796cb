"""A process that was forked while grpc.aio was in use: there gRPC never answers, and here that can be asked before.

grpc.aio keeps one thread that waits for gRPC's events while a channel or a server is open. A fork copies no thread, so in the
child every call would hang. A child that was forked before the first use, or after everything was closed, works; so does one
that was spawned.

gRPC's own preparation for forks is switched off here, unless GRPC_ENABLE_FORK_SUPPORT says otherwise: it doesn't prepare for
grpc.aio, but gives the child new threads that work on the parent's connections. Measured with grpcio 1.85, 15 % of the children
forked amid a stream died of SIGSEGV, whether they used gRPC or not; without it none of 36 did.

Such a child must not run the parent's event loop to its end, which would cancel the parent's calls: it leaves by `os._exit`,
as the children of multiprocessing do.

What was the case at a fork is known once this module is imported, which is to be before the first use of gRPC; it needs no
grpcio.
"""

import gc
import os
import threading

_WAITING_THREAD = "_poll_wrapper"  # grpc.aio's name for the function of its thread; Python names the thread after it


class _Process:
    """What is known of this process's forks."""

    waiting_at_fork = False
    cut_off = False


def cut_off_reason() -> str | None:
    """Return why gRPC would hang in this process, and what to do instead; None when it wouldn't."""
    if not _Process.cut_off:
        return None
    return (
        f"process {os.getpid()} was forked while gRPC was in use, which doesn't survive that: start it by spawn or "
        "forkserver, or fork before the first use or after everything was closed"
    )


def _before() -> None:
    _Process.waiting_at_fork = any(_WAITING_THREAD in thread.name for thread in threading.enumerate())


def _in_child() -> None:
    if _Process.waiting_at_fork:
        _Process.cut_off = True
        gc.freeze()  # the parent's calls and channels: to collect one is to call gRPC, which crashes here


os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.register_at_fork(before=_before, after_in_child=_in_child)

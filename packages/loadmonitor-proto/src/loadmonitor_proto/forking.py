"""A process that was forked while grpc.aio was in use: there gRPC never answers, and here that can be asked before.

grpc.aio keeps one thread that waits for gRPC's events while a channel or a server is open. A fork copies no thread, and gRPC
gives up preparing for a fork while that thread waits, so in the child every call would hang. A child that was forked before
the first use, or after everything was closed, works; so does one that was spawned.

What was the case at a fork is known once this module is imported; it needs no grpcio.
"""

import os
import threading

_WAITING_THREAD = "_poll_wrapper"  # grpc.aio's name for the function of its thread; Python names the thread after it
_waiting_at_fork = False
_cut_off = False


def cut_off_reason() -> str | None:
    """Return why gRPC would hang in this process, and what to do instead; None when it wouldn't."""
    if not _cut_off:
        return None
    return (
        f"process {os.getpid()} was forked while gRPC was in use, which doesn't survive that: start it by spawn or "
        "forkserver, or fork before the first use or after everything was closed"
    )


def _before() -> None:
    global _waiting_at_fork
    _waiting_at_fork = any(_WAITING_THREAD in thread.name for thread in threading.enumerate())


def _in_child() -> None:
    global _cut_off
    _cut_off = _cut_off or _waiting_at_fork


os.register_at_fork(before=_before, after_in_child=_in_child)

"""What a forked child must make anew: a lock may be held in it by a thread that it hasn't got."""

import os
from typing import Protocol
from weakref import WeakSet


class _Forked(Protocol):
    def _after_fork(self) -> None: ...


_watched: WeakSet[_Forked] = WeakSet()


def renew_after_fork(item: _Forked) -> None:
    """Call `item._after_fork()` in every child that this process forks while the item lives."""
    _watched.add(item)


def _run_in_child() -> None:
    for item in list(_watched):
        item._after_fork()  # noqa: SLF001 - the protocol's only method; no user of the item calls it


os.register_at_fork(after_in_child=_run_in_child)

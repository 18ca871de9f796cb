"""A Router's own picks that a Worker's numbers can't contain yet.

Between two samples of a Worker's load a Router sends it requests that the older sample knows nothing of. Forgotten, they
make every pick of that time go to the one Worker that looked best. So a pick counts on top of the sample until a sample
taken after it arrives, or the request is over.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from loadmonitor_router.errors import ConfigError

DEFAULT_DISPATCH_MS = 20.0
"""How long a request may be on its way from the pick to the engine's queue, where samples count it."""

DEFAULT_FORGET_AFTER_SECONDS = 10.0
"""How long a pick counts at a Worker that sends no newer sample."""

_NS_PER_MS = 1_000_000
_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One request under way; equal only to itself.

    Attributes:
        where: The url or `WorkerRank` it went to.
        started_ns: When it was picked, on the clock of its `InFlight`.
    """

    where: Hashable
    started_ns: int


@dataclass(slots=True)
class _Book:
    recent: "OrderedDict[Ticket, None]" = field(default_factory=OrderedDict)
    unfinished: set[Ticket] = field(default_factory=set)


class InFlight:
    """The picks of one Router; pickers that send to the same Workers share one. For one thread.

    A Worker as a whole and each of its ranks are counted apart: send to a Worker either by its url or by its ranks.

    Attributes:
        tracks_completion: Whether every ticket is promised to come back.
    """

    def __init__(
        self,
        *,
        tracks_completion: bool = False,
        dispatch_ms: float = DEFAULT_DISPATCH_MS,
        forget_after_seconds: float = DEFAULT_FORGET_AFTER_SECONDS,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Start with no picks.

        Args:
            tracks_completion: The caller promises `finished` for every ticket, however the request ends. A Worker is then
                never taken to hold less than its unfinished tickets, whatever it reports; a ticket that is lost counts
                for ever.
            dispatch_ms: A sample that is newer than a pick by no more than this may still miss it; 0 or above.
            forget_after_seconds: A pick counts no longer than this without a newer sample, so that a Worker that never
                reports isn't shunned for old picks; above the freshness window.
            monotonic_ns: The clock of the snapshots: `Clock.monotonic_ns` of the monitor.

        Raises:
            ConfigError: `dispatch_ms` or `forget_after_seconds` is out of range.
        """
        if not 0 <= dispatch_ms < math.inf:
            raise ConfigError(f"dispatch_ms is {dispatch_ms}; allowed are finite milliseconds from 0")
        if not 0 < forget_after_seconds < math.inf:
            raise ConfigError(f"forget_after_seconds is {forget_after_seconds}; allowed are finite seconds above 0")
        self.tracks_completion: bool = tracks_completion
        self._dispatch_ns = int(dispatch_ms * _NS_PER_MS)
        self._forget_ns = int(forget_after_seconds * _NS_PER_SECOND)
        self._monotonic_ns = monotonic_ns
        self._books: dict[Hashable, _Book] = {}

    def started(self, where: Hashable) -> Ticket:
        """Count a request to a url or `WorkerRank`. A picker does so itself; this is for requests that it didn't place."""
        ticket = Ticket(where, self._monotonic_ns())
        book = self._books.get(where)
        if book is None:
            book = self._books[where] = _Book()
        book.recent[ticket] = None
        if self.tracks_completion:
            book.unfinished.add(ticket)
        _drop_before(book, ticket.started_ns - self._forget_ns)
        return ticket

    def finished(self, ticket: Ticket) -> None:
        """Count a request no longer; harmless the second time, and after `forget`."""
        book = self._books.get(ticket.where)
        if book is not None:
            book.recent.pop(ticket, None)
            book.unfinished.discard(ticket)

    def forget(self, where: Hashable) -> None:
        """Drop what is known of a url or `WorkerRank` that left the fleet; tickets that are out don't count at its return."""
        self._books.pop(where, None)

    def newer_than(self, where: Hashable, sampled_ns: int | None) -> int:
        """Return how many requests the newest sample can't be trusted to contain, and drop the others from this count.

        Args:
            where: The url or `WorkerRank`.
            sampled_ns: Since when, at the latest, the numbers at hand hold, on the clock of this object: pass a lower
                bound. None when there are none to trust: then every pick counts that isn't too old.
        """
        book = self._books.get(where)
        if book is None:
            return 0
        oldest_ns = self._monotonic_ns() - self._forget_ns
        if sampled_ns is not None:
            oldest_ns = max(oldest_ns, sampled_ns - self._dispatch_ns)
        _drop_before(book, oldest_ns)
        return len(book.recent)

    def unfinished(self, where: Hashable) -> int:
        """Return how many requests are out and haven't finished; always 0 unless completions are tracked."""
        book = self._books.get(where)
        return 0 if book is None else len(book.unfinished)


def _drop_before(book: _Book, oldest_ns: int) -> None:
    recent = book.recent
    while recent and next(iter(recent)).started_ns < oldest_ns:
        recent.popitem(last=False)

"""Corrects what sources say of their load by what a puller knows better, before any policy ranks them."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from p2p_selection._checks import checked_unknown_load
from p2p_selection.candidates import UNKNOWN_LOAD, Candidate, SourceKey, Target, known_load
from p2p_selection.errors import SettingError
from p2p_selection.interfaces import Account, Accountable, SourceSelector

LoadView = Callable[[Candidate], float | None]
"""What a puller takes a candidate's load for: 0 to 1, or None for unknown."""


class AdjustedLoads:
    """Ranks by a policy that sees each load as some views show it; returns the candidates as they were listed.

    Args:
        selector: The policy.
        views: Applied in order, each to what the one before made of the load.

    Attributes:
        name: The policy's name.
    """

    def __init__(self, selector: SourceSelector, *views: LoadView) -> None:
        self._selector = selector
        self._views = views
        self.name: str = selector.name

    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]:
        """Return the same candidates in a new list, best first."""
        seen = self._seen(candidates)
        return [seen[id(view)][1] for view in self._selector.order((view for view, _ in seen.values()), target)]

    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]:
        """Return the first `k` of what `order` returns."""
        seen = self._seen(candidates)
        return [seen[id(view)][1] for view in self._selector.top((view for view, _ in seen.values()), target, k)]

    def accounts(self, candidates: Iterable[Candidate], target: Target) -> Sequence[Account]:
        """Return the policy's accounts, in the order given; none from a policy that gives none."""
        if not isinstance(self._selector, Accountable):
            return []
        return self._selector.accounts((view for view, _ in self._seen(candidates).values()), target)

    def _seen(self, candidates: Iterable[Candidate]) -> dict[int, tuple[Candidate, Candidate]]:
        pairs = []
        for candidate in candidates:
            view = replace(candidate)
            for adjust in self._views:
                view = replace(view, source_load=adjust(view))
            pairs.append((view, candidate))
        return {id(pair[0]): pair for pair in pairs}


class Decay:
    """Lets an old load fade toward unknown's: a source that was idle two minutes ago needn't be now.

    Within `fresh_ms` of its update a load counts in full; after that its distance from `unknown_load` halves every
    `half_life_ms`. A record that doesn't tell its update is taken as it is, one from the future as new.

    Args:
        now_ms: The time, Unix milliseconds; the registry stamps records, so its clock and this one should agree to a second.
        fresh_ms: How long a load counts in full, 0 or above; by default the interval of heartbeats.
        half_life_ms: Above 0.
        unknown_load: Where a load fades to, 0 to 1.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        *,
        fresh_ms: int = 30_000,
        half_life_ms: int = 30_000,
        unknown_load: float = UNKNOWN_LOAD,
    ) -> None:
        if fresh_ms < 0:
            raise SettingError("fresh_ms", fresh_ms, "0 or more")
        if half_life_ms <= 0:
            raise SettingError("half_life_ms", half_life_ms, "more than 0")
        self._now_ms = now_ms
        self._fresh_ms = fresh_ms
        self._half_life_ms = half_life_ms
        self._unknown_load = checked_unknown_load(unknown_load)

    def __call__(self, candidate: Candidate) -> float | None:
        """Return the candidate's load as it counts now."""
        load = known_load(candidate.source_load)
        if load is None or candidate.updated_at_ms is None:
            return load
        age_ms = max(0, self._now_ms() - candidate.updated_at_ms - self._fresh_ms)
        kept: float = 0.5 ** (age_ms / self._half_life_ms)
        return self._unknown_load + (load - self._unknown_load) * kept


class Steady:
    """Hysteresis: keeps the last load seen of a source until it has moved by more than a band.

    Two sources that are about as busy as each other then don't change places with every heartbeat. Remembers the sources of the
    last `size` it saw; may be shared by threads.

    Args:
        band: Smallest change that counts, 0 to 1.
        size: Most sources remembered, above 0; all are forgotten when it is reached.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(self, *, band: float = 0.05, size: int = 131_072) -> None:
        if not 0 <= band <= 1:
            raise SettingError("band", band, "0 to 1")
        if size < 1:
            raise SettingError("size", size, "1 or more")
        self._band = band
        self._size = size
        self._held: dict[SourceKey, float | None] = {}

    def __call__(self, candidate: Candidate) -> float | None:
        """Return the load that counts, and remember it."""
        load = known_load(candidate.source_load)
        key = candidate.key
        held = self._held.get(key)
        if load is not None and held is not None and abs(load - held) <= self._band:
            return held
        if len(self._held) >= self._size:
            self._held.clear()
        self._held[key] = load
        return load


class InFlight:
    """Counts this process' own pulls, which a source's last heartbeat may not show yet; may be shared by threads.

    Args:
        load_per_pull: What one pull adds to a source's load, 0 to 1.
        unknown_load: What it is added to where the load is unknown, 0 to 1.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(self, *, load_per_pull: float = 0.25, unknown_load: float = UNKNOWN_LOAD) -> None:
        if not 0 <= load_per_pull <= 1:
            raise SettingError("load_per_pull", load_per_pull, "0 to 1")
        self._load_per_pull = load_per_pull
        self._unknown_load = checked_unknown_load(unknown_load)
        self._pulls: Counter[SourceKey] = Counter()
        self._lock = threading.Lock()

    def __call__(self, candidate: Candidate) -> float | None:
        """Return the candidate's load with this process' pulls on top, at most 1; without any, its load as it is."""
        pulls = self._pulls[candidate.key]
        load = known_load(candidate.source_load)
        if not pulls:
            return load
        return min(1.0, (self._unknown_load if load is None else load) + pulls * self._load_per_pull)

    @contextmanager
    def pulling(self, candidate: Candidate) -> Iterator[None]:
        """Count a pull from the candidate while the block runs."""
        key = candidate.key
        with self._lock:
            self._pulls[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._pulls[key] -= 1
                if not self._pulls[key]:
                    del self._pulls[key]

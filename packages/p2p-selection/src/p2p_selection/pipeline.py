"""From a registry's list to the few sources worth trying: filter, order, cap, and an account of every entry's fate."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from p2p_selection.adapting import candidate_from
from p2p_selection.candidates import Candidate, SourceKey, Target
from p2p_selection.errors import MalformedCandidateError, SettingError
from p2p_selection.explaining import Explanation, explain_verdicts
from p2p_selection.filtering import CandidateFilter, DropReason
from p2p_selection.interfaces import Account, Accountable, AttemptOutcome, SelectionHook, SourceSelector
from p2p_selection.selection import Fate, Selection, Verdict

_log = logging.getLogger(__name__)


class SelectionPipeline:
    """Filters, orders and caps; remembers sources that failed. May be shared by threads.

    Args:
        selector: The policy.
        conditions: What a source must meet.
        limit: Most sources to try, above 0; None for all.
        cool_down_seconds: How long a source that failed comes after those that didn't, 0 or above.
        hook: Sees every selection and every attempt.
        now_ms: Unix milliseconds, for the age of records.
        monotonic: Seconds, for cool-downs and for how long ordering takes.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(
        self,
        selector: SourceSelector,
        *,
        conditions: CandidateFilter | None = None,
        limit: int | None = 3,
        cool_down_seconds: float = 60.0,
        hook: SelectionHook | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if limit is not None and limit < 1:
            raise SettingError("limit", limit, "1 or more, or None")
        if not cool_down_seconds >= 0:
            raise SettingError("cool_down_seconds", cool_down_seconds, "0 or more")
        self.selector: SourceSelector = selector
        self._conditions = conditions or CandidateFilter()
        self._limit = limit
        self._cool_down_seconds = cool_down_seconds
        self._hook = hook
        self._now_ms = now_ms
        self._monotonic = monotonic
        self._cooling: dict[SourceKey, float] = {}
        self._lock = threading.Lock()

    def select(self, listed: Iterable[object], target: Target) -> Selection:
        """Return the sources that `target` should try.

        An entry that can't be read is dropped with a reason; it costs the target none of the others.

        Args:
            listed: What a registry lists: `Candidate`s, or anything that `candidate_from` reads.
            target: The process that is going to pull.
        """
        selection, seconds = self._select(listed, target)
        self._tell(lambda hook: hook.selected(selection, seconds))
        return selection

    def explain(self, listed: Iterable[object], target: Target) -> tuple[Explanation, ...]:
        """Return what `select` would make of each entry and why, those to try first; no hook is told.

        A policy that shuffles gives another order at each call.
        """
        selection, _ = self._select(listed, target)
        ranked = [v.candidate for v in selection.verdicts if v.candidate is not None and v.fate is not Fate.DROPPED]
        accounts: Sequence[Account] = []
        if isinstance(self.selector, Accountable):
            accounts = self.selector.accounts(ranked, target)
        return explain_verdicts(selection.verdicts, accounts)

    def listing_failed(self, error: Exception) -> None:
        """Tell the hook that there was no list: the registry couldn't be asked, or didn't answer."""
        self._tell(lambda hook: hook.listing_failed(self.selector.name, error))

    def attempted(
        self, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None = None
    ) -> None:
        """Learn how an attempt ended, and tell the hook.

        A source that failed comes after the others for the cool-down; it stays the first choice where it is the only one.
        One that gave the weights is over it. One without metadata stays where it was.
        """
        with self._lock:
            if outcome is AttemptOutcome.SUCCESS:
                self._cooling.pop(candidate.key, None)
            elif outcome is not AttemptOutcome.METADATA_MISS:
                now = self._monotonic()
                self._cooling = {key: until for key, until in self._cooling.items() if until > now}
                self._cooling[candidate.key] = now + self._cool_down_seconds
        self._tell(lambda hook: hook.attempted(self.selector.name, candidate, outcome, seconds, error))

    def _select(self, listed: Iterable[object], target: Target) -> tuple[Selection, float]:
        usable, dropped = self._sift(listed, target)
        started = self._monotonic()
        ranked = self.selector.order((candidate for _, candidate in usable), target)
        now = self._monotonic()
        with self._lock:
            waits = [self._cooling.get(candidate.key, now) - now for candidate in ranked]
        places = sorted(range(len(ranked)), key=lambda place: waits[place] > 0)
        # By identity, because entries may be equal; one that is listed twice has several entries.
        entries: dict[int, list[object]] = {}
        for entry, candidate in usable:
            entries.setdefault(id(candidate), []).append(entry)
        verdicts = [
            Verdict(entries[id(ranked[place])].pop(), ranked[place], *self._fate(rank, waits[place]))
            for rank, place in enumerate(places)
        ]
        sources = tuple(ranked[place] for place in places[: self._limit])
        return Selection(self.selector.name, sources, (*verdicts, *dropped)), now - started

    def _sift(
        self, listed: Iterable[object], target: Target
    ) -> tuple[list[tuple[object, Candidate]], Sequence[Verdict]]:
        usable, dropped = [], []
        now_ms = self._now_ms()
        for entry in listed:
            try:
                candidate = candidate_from(entry)
            except MalformedCandidateError as error:
                dropped.append(Verdict(entry, None, Fate.DROPPED, str(error), DropReason.MALFORMED))
                continue
            refusal = self._conditions.reason(candidate, target, now_ms)
            if refusal is None:
                usable.append((entry, candidate))
            else:
                drop_reason, reason = refusal
                dropped.append(Verdict(entry, candidate, Fate.DROPPED, reason, drop_reason))
        return usable, dropped

    def _fate(self, rank: int, wait: float) -> tuple[Fate, str]:
        if wait > 0:
            return Fate.COOLING, f"a pull from it failed; last for {wait:.0f} s more"
        return (Fate.CHOSEN if self._limit is None or rank < self._limit else Fate.CANDIDATE), ""

    def _tell(self, event: Callable[[SelectionHook], None]) -> None:
        if self._hook is None:
            return
        try:
            event(self._hook)
        except Exception:  # noqa: BLE001 - a hook is somebody else's, and may raise anything
            _log.exception("a selection hook failed; the selection stands")

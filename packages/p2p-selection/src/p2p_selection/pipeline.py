"""From a registry's list to the few sources worth trying: filter, order, cap, and an account of every entry's fate."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from p2p_selection.adapting import candidate_from
from p2p_selection.candidates import Candidate, Target
from p2p_selection.errors import MalformedCandidateError, SettingError
from p2p_selection.filtering import CandidateFilter
from p2p_selection.interfaces import SourceSelector


class Fate(StrEnum):
    """What became of an entry of the list."""

    CHOSEN = "chosen"
    CANDIDATE = "candidate"
    COOLING = "cooling"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one entry of the list, and why.

    Attributes:
        entry: The entry as it was listed.
        candidate: What was read from it; None where it is malformed.
        fate: CHOSEN for those to try, CANDIDATE for those after the cap, COOLING for those put last because a pull from them
            failed lately (the first of which may still be tried), DROPPED for those that can't be used.
        reason: Why it was dropped or put last; "" otherwise.
    """

    entry: object
    candidate: Candidate | None
    fate: Fate
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The sources to try, best first, and the fate of every entry: those to try, the other candidates, the dropped.

    Attributes:
        sources: At most as many as the cap.
        verdicts: One for each entry of the list.
    """

    sources: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]


class SelectionPipeline:
    """Filters, orders and caps; remembers sources that failed. May be shared by threads.

    Args:
        selector: The policy.
        conditions: What a source must meet.
        limit: Most sources to try, above 0; None for all.
        cool_down_seconds: How long a source that failed comes after those that didn't, 0 or above.
        now_ms: Unix milliseconds, for the age of records.
        monotonic: Seconds, for cool-downs.

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
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if limit is not None and limit < 1:
            raise SettingError("limit", limit, "1 or more, or None")
        if not cool_down_seconds >= 0:
            raise SettingError("cool_down_seconds", cool_down_seconds, "0 or more")
        self.selector = selector
        self._conditions = conditions or CandidateFilter()
        self._limit = limit
        self._cool_down_seconds = cool_down_seconds
        self._now_ms = now_ms
        self._monotonic = monotonic
        self._cooling: dict[tuple[str, str, int], float] = {}

    def select(self, listed: Iterable[object], target: Target) -> Selection:
        """Return the sources that `target` should try.

        An entry that can't be read is dropped with a reason; it costs the target none of the others.

        Args:
            listed: What a registry lists: `Candidate`s, or anything that `candidate_from` reads.
            target: The process that is going to pull.
        """
        usable: dict[int, tuple[object, Candidate]] = {}
        dropped = []
        now_ms = self._now_ms()
        for entry in listed:
            try:
                candidate = candidate_from(entry)
            except MalformedCandidateError as error:
                dropped.append(Verdict(entry, None, Fate.DROPPED, str(error)))
                continue
            reason = self._conditions.reason(candidate, target, now_ms)
            if reason is None:
                usable[id(candidate)] = entry, candidate
            else:
                dropped.append(Verdict(entry, candidate, Fate.DROPPED, reason))
        ranked = self.selector.order((candidate for _, candidate in usable.values()), target)
        waits = {id(candidate): self._waits(candidate) for candidate in ranked}
        ranked.sort(key=lambda candidate: waits[id(candidate)] > 0)
        sources = ranked[: self._limit]
        verdicts = [
            Verdict(usable[id(candidate)][0], candidate, *self._fate(place, waits[id(candidate)]))
            for place, candidate in enumerate(ranked)
        ]
        return Selection(tuple(sources), (*verdicts, *dropped))

    def report_failure(self, candidate: Candidate) -> None:
        """Put the candidate after the others for the cool-down; it stays the first choice where it is the only one."""
        now = self._monotonic()
        self._cooling = {key: until for key, until in self._cooling.items() if until > now}
        self._cooling[_key(candidate)] = now + self._cool_down_seconds

    def report_success(self, candidate: Candidate) -> None:
        """End the candidate's cool-down."""
        self._cooling.pop(_key(candidate), None)

    def _waits(self, candidate: Candidate) -> float:
        return self._cooling.get(_key(candidate), 0.0) - self._monotonic()

    def _fate(self, place: int, waits: float) -> tuple[Fate, str]:
        if waits > 0:
            return Fate.COOLING, f"a pull from it failed; last for {waits:.0f} s more"
        return (Fate.CHOSEN if self._limit is None or place < self._limit else Fate.CANDIDATE), ""


def _key(candidate: Candidate) -> tuple[str, str, int]:
    return candidate.mx_source_id, candidate.worker_id, candidate.worker_rank

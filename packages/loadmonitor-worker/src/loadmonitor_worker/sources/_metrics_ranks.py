"""From the samples of a metrics text to the load of each rank, as a mapping declares it. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from loadmonitor_worker._validate import name_ranks
from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._metrics_question import Question
from loadmonitor_worker.sources._metrics_series import ByRank, Told, tell
from loadmonitor_worker.sources._metrics_terms import Reading, Term
from loadmonitor_worker.sources._prom_text import MetricsReason, Samples
from loadmonitor_worker.sources.metrics_mapping import CAPACITIES, NEEDED

_RATIOS: Final = ("token_usage", "cache_hit_rate", "utilization")
"""Never added."""
_AT_MOST_ONE: Final = ("token_usage", "cache_hit_rate")
_RATES: Final = ("gen_throughput", "prefill_throughput")
_NOT_COMPUTED: Final = -1.0
_UNSET: Final[Mapping[str, float | None]] = {
    "num_waiting_uncached_tokens": None,
    "num_used_tokens": None,
    "num_total_tokens": None,
    "token_usage": None,
    "gen_throughput": None,
    "cache_hit_rate": None,
    "utilization": _NOT_COMPUTED,
    "prefill_throughput": None,
    "prefill_uncached_tokens_total": None,
    "prefill_busy_us_total": None,
    "generated_tokens_total": None,
}
"""What a rank says of a field that the engine doesn't tell; a rank without one of the others is none."""


@dataclass(frozen=True, slots=True)
class MetricsLoads:
    """The ranks of one text.

    Attributes:
        ranks: One for each rank that the text shows, in order.
        unknown: Why a field is not told for at least one of them, by field.
    """

    ranks: tuple[RankSnapshot, ...]
    unknown: Mapping[str, str]


def read_ranks(samples: Samples, question: Question, *, requested_unix_ms: int) -> MetricsLoads:
    """Return the load of every rank that the text shows.

    Args:
        samples: The samples of `question.wanted`.
        question: What is asked.
        requested_unix_ms: When the text was asked for; stamps the ranks, unless the text itself gives an older time.

    Raises:
        SourceUnavailableError: There is none; `reason` is a word of MetricsReason.
        InvalidSnapshotError: A value can't be one of its field, or a label no rank.
    """
    return _Text(samples, question).loads(requested_unix_ms)


class _Unknown(Exception):  # noqa: N818 - it says nothing of a failure: an optional field stays unknown
    def __init__(self, reason: MetricsReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Text:
    """One text while it is read."""

    def __init__(self, samples: Samples, question: Question) -> None:
        self._samples = samples
        self._question = question
        self._told: dict[tuple[Term, bool], ByRank] = {}

    def loads(self, requested_unix_ms: int) -> MetricsLoads:
        """Return the ranks; see `read_ranks`."""
        question = self._question
        self._refuse_sleep()
        unknown = {
            field: f"{question.mapping.engine} has no metric for it" for field in _UNSET if field not in question.fields
        }
        chosen: dict[str, Reading | None] = {}
        for field in question.fields:
            try:
                chosen[field] = self._choose(field)
            except SourceUnavailableError as problem:
                if field not in question.mapping.optional:
                    raise
                unknown[field] = str(problem)
        for field in NEEDED:
            # Before all others: what lacks these is hardly this engine's text.
            if chosen[field] is None:
                raise self._refusal(self._absent(field), field)
        ranks = self._ranks(chosen)
        snapshots = []
        for rank in ranks:
            read = partial(self._read, rank=rank, alone=len(ranks) == 1)
            values: dict[str, Any] = {**_UNSET}
            told: list[Told] = []
            for field, reading in chosen.items():
                try:
                    values[field] = self._value(field, reading, read, values, told)
                except _Unknown as problem:
                    if field not in question.mapping.optional:
                        raise self._refusal(problem, field) from None
                    unknown.setdefault(field, f"{question.mapping.engine} {problem}")
            stamp = min([requested_unix_ms, *(item.unix_ms for item in told if item.unix_ms is not None)])
            snapshots.append(RankSnapshot(dp_rank=rank, snapshot_time_unix_ms=stamp, **values))
        return MetricsLoads(tuple(snapshots), unknown)

    def _refuse_sleep(self) -> None:
        question = self._question
        if question.mapping.awake is not None:
            told = self._tell(question.mapping.awake, adds=False)
            if asleep := [rank for rank, item in told.items() if item.value == 0]:
                ranks = sorted(rank for rank in asleep if rank is not None)
                who = f"{name_ranks(ranks)} of {question.mapping.engine}" if ranks else question.mapping.engine
                raise SourceUnavailableError(
                    MetricsReason.SLEEPING,
                    f"{question.where}: {who} sleeps, and takes no requests until it is woken up",
                )

    def _ranks(self, chosen: Mapping[str, Reading | None]) -> list[int]:
        """Return every rank that a needed metric names, so that one which lacks another is missed and not left out."""
        optional = self._question.mapping.optional
        named = {
            rank
            for field, reading in chosen.items()
            if reading is not None and field not in optional
            for term in reading.terms
            if term.label is None
            for rank in self._tell(term, adds=field not in _RATIOS)
            if rank is not None
        }
        return sorted(named) or [self._question.unlabelled_rank]

    def _choose(self, field: str) -> Reading | None:
        """Return the first reading whose metrics the text holds, so that a renamed one is read under one name only."""
        for reading in self._question.readings(field):
            if all(self._tell(term, adds=field not in _RATIOS) for term in reading.terms):
                return reading
        return None

    def _tell(self, term: Term, *, adds: bool) -> ByRank:
        key = (term, adds)
        if key not in self._told:
            question = self._question
            series = self._samples.get(question.name(term), ())
            self._told[key] = tell(series, term, question.mapping, question.select, adds=adds, where=question.where)
        return self._told[key]

    def _value(
        self,
        field: str,
        reading: Reading | None,
        read: Callable[[Term, str], Told],
        values: Mapping[str, Any],
        told: list[Told],
    ) -> float:
        question = self._question
        if field in question.fixed:
            return question.fixed[field]
        if reading is None:
            raise self._absent(field)
        product = reading.factor
        for term in reading.terms:
            item = read(term, field)
            if item.value is None:
                raise _Unknown(
                    MetricsReason.VALUE_UNKNOWN, f"doesn't know its own {term} (NaN, negative, or no number)"
                )
            told.append(item)
            product *= item.value
        for name in reading.fields:
            if values.get(name) is None:
                raise _Unknown(MetricsReason.FAMILY_ABSENT, f"doesn't tell {name}")
            product *= values[name]
        return _fit(field, product, reading, optional=field in question.mapping.optional)

    def _absent(self, field: str) -> _Unknown:
        question = self._question
        terms = [term for choice in question.readings(field) for term in choice.terms]
        names = " or ".join(f"{question.prefix}{term}" for term in terms if not self._tell(term, adds=True))
        return _Unknown(MetricsReason.FAMILY_ABSENT, f"shows no {names}")

    def _refusal(self, problem: _Unknown, field: str) -> SourceUnavailableError:
        advice = ""
        if field in CAPACITIES:
            advice = f": if the engine never tells it, give {field} yourself"
        elif problem.reason is MetricsReason.FAMILY_ABSENT:
            advice = f": {self._question.mapping.engine} is starting, or something else answers"
        return SourceUnavailableError(problem.reason, f"{self._question.where} {problem}, which tells {field}{advice}")

    def _read(self, term: Term, field: str, *, rank: int, alone: bool) -> Told:
        by_rank = self._tell(term, adds=field not in _RATIOS)
        if rank in by_rank:
            return by_rank[rank]
        # What is fixed for an engine stands for all of its ranks; a load without a rank can't be shared out among several.
        if None in by_rank and (alone or term.label is not None or field in CAPACITIES):
            return by_rank[None]
        raise _Unknown(MetricsReason.FAMILY_ABSENT, f"shows no {self._question.prefix}{term} for rank {rank}")


def _fit(field: str, value: float, reading: Reading, *, optional: bool) -> float:
    if field in _AT_MOST_ONE and value > 1:
        words = f"{value:g}, above 1: a percentage, which a mapping turns into a ratio with 0.01 *"
        if optional:
            raise _Unknown(MetricsReason.VALUE_UNKNOWN, f"tells {words}")
        raise InvalidSnapshotError(f"{field} is {words}", field=field)
    if field in _RATIOS or field in _RATES:
        return value
    if not math.isfinite(value) or (reading.is_exact and value != math.floor(value)):
        raise InvalidSnapshotError(f"{field} is {value!r}, where a whole number is expected", field=field)
    return round(value)

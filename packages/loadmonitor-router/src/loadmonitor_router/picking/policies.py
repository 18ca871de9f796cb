"""The policies: which of the candidates takes a request, given how loaded each is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from random import Random, SystemRandom
from typing import ClassVar, Literal, NamedTuple

from loadmonitor_router.errors import ConfigError, NoWorkerError
from loadmonitor_router.picking._survey import Known, Survey, Surveyor, url_of, why_not
from loadmonitor_router.picking.choice import Candidate, Choice, WorkerRank
from loadmonitor_router.picking.inflight import InFlight
from loadmonitor_router.picking.score import Load
from loadmonitor_router.snapshot import FleetSnapshot

_HALF_WEIGHT_SCORE = 0.25


class _Scored(NamedTuple):
    candidate: Candidate
    score: float
    slots: float
    measured: bool


class _ScorePicker(ABC):
    """What the policies share: who may be picked, what each one's score is, and what to do when nothing is known.

    Attributes:
        in_flight: The router's picks.
    """

    _how: ClassVar[str]

    def __init__(
        self,
        *,
        in_flight: InFlight | None = None,
        rng: Random | None = None,
        unknown_score: float | None = None,
        when_none_fresh: Literal["fail_open", "refuse"] = "fail_open",
        routers: int | None = None,
    ) -> None:
        """Choose how unknowns are treated.

        Args:
            in_flight: The router's picks; give the same one to every picker that sends to the same Workers. By default
                one of its own.
            rng: Breaks ties and draws; a seeded one makes the picks repeatable. By default the system's.
            unknown_score: Load of a Worker that hasn't reported yet, on the scale of `picking.score`; 0 or above. By
                default the mean of the fresh candidates.
            when_none_fresh: "fail_open" spreads the requests by this router's own picks alone, and says so in
                `Choice.fail_open`; "refuse" raises NoWorkerError.
            routers: Routers that send to the same Workers, this one included: each own pick that no sample contains yet
                counts so many times. By default what each Worker reports in `active_routers`, or 1.

        Raises:
            ConfigError: A setting is out of range.
        """
        if unknown_score is not None and not 0 <= unknown_score < math.inf:
            raise ConfigError(
                f"unknown_score is {unknown_score}; allowed are finite numbers from 0, or None for the mean"
            )
        if when_none_fresh not in {"fail_open", "refuse"}:
            raise ConfigError(f"when_none_fresh is {when_none_fresh!r}; allowed are 'fail_open' and 'refuse'")
        if routers is not None and routers < 1:
            raise ConfigError(f"routers is {routers}; allowed are counts from 1, or None for what the Workers report")
        self.in_flight: InFlight = InFlight() if in_flight is None else in_flight
        self._rng = SystemRandom() if rng is None else rng
        self._unknown_score = unknown_score
        self._refuses = when_none_fresh == "refuse"
        self._routers = routers
        self._surveyor = Surveyor()

    def pick(self, snapshot: FleetSnapshot, candidates: Iterable[Candidate]) -> Choice:
        """Choose one of the candidates and count it in `in_flight`; see `Picker.pick`."""
        found = self._surveyor.survey(snapshot, candidates)
        return self._by_score(found) if found.known else self._by_own_picks(snapshot, found)

    @abstractmethod
    def _choose(self, pool: Sequence[_Scored]) -> _Scored:
        """Return one of at least one."""

    def _by_score(self, found: Survey) -> Choice:
        pool = [_Scored(known.candidate, self._score(known), known.load.slots, measured=True) for known in found.known]
        if found.unknown:
            prior = self._prior([known.load for known in found.known])
            pool += [
                _Scored(
                    candidate,
                    prior.score_with(self._own(candidate) * (self._routers or 1)),
                    prior.slots,
                    measured=False,
                )
                for candidate in found.unknown
            ]
        best = self._choose(pool)
        reason = f"score {best.score:.2f}, {self._how.format(len(pool))}"
        if not best.measured:
            reason += "; has not reported, so its load is assumed"
        return self._chosen(best.candidate, best.score, reason, fail_open=False)

    def _by_own_picks(self, snapshot: FleetSnapshot, found: Survey) -> Choice:
        pool = found.unknown + found.lost or found.unreachable
        if self._refuses or not pool:
            excluded = found.barred + found.unknown + found.lost + found.unreachable
            raise NoWorkerError({str(candidate): why_not(snapshot, candidate) for candidate in excluded})
        own = [self._own(candidate) for candidate in pool]
        fewest = min(own)
        chosen = self._rng.choice([candidate for candidate, count in zip(pool, own, strict=True) if count == fewest])
        reason = f"fail open: none of {len(pool)} is fresh, so the fewest own picks in flight ({fewest})"
        return self._chosen(chosen, None, reason, fail_open=True)

    def _score(self, known: Known) -> float:
        routers = (known.active_routers or 1) if self._routers is None else self._routers
        missing = self.in_flight.newer_than(known.candidate, known.sampled_ns) * routers
        # A Worker can't hold less than what it was sent and hasn't answered, even if it reports so.
        beyond_report = self.in_flight.unfinished(known.candidate) - known.load.requests
        return known.load.score_with(max(missing, beyond_report))

    def _prior(self, known: Sequence[Load]) -> Load:
        score = sum(load.score for load in known) / len(known) if self._unknown_score is None else self._unknown_score
        return Load(score, requests=0, slots=sum(load.slots for load in known) / len(known))

    def _own(self, candidate: Candidate) -> int:
        return max(self.in_flight.newer_than(candidate, None), self.in_flight.unfinished(candidate))

    def _chosen(self, candidate: Candidate, score: float | None, reason: str, *, fail_open: bool) -> Choice:
        return Choice(
            url=url_of(candidate),
            dp_rank=candidate.dp_rank if isinstance(candidate, WorkerRank) else None,
            score=score,
            reason=reason,
            fail_open=fail_open,
            ticket=self.in_flight.started(candidate),
        )


class LeastLoaded(_ScorePicker):
    """The lowest score; equal ones at random. The best choice of a router that sees all of its Workers' load."""

    _how = "lowest of {}"

    def _choose(self, pool: Sequence[_Scored]) -> _Scored:
        lowest = min(scored.score for scored in pool)
        return self._rng.choice([scored for scored in pool if scored.score == lowest])


class PowerOfTwoChoices(_ScorePicker):
    """The lower score of two candidates drawn at random: many routers that share Workers don't all take the same one."""

    _how = "the lower of two drawn from {}"

    def _choose(self, pool: Sequence[_Scored]) -> _Scored:
        drawn = self._rng.sample(pool, min(2, len(pool)))
        return min(drawn, key=lambda scored: scored.score)  # of equal ones the first drawn, so a random one


class WeightedRandom(_ScorePicker):
    """Drawn with a probability in proportion to `slots / (1 + 4 · score)`: bigger and idler Workers take more.

    At the same load a Worker that may run twice the requests gets twice as many. A score of 0.25 halves an idle Worker's
    share, a full Worker has a fifth of it.
    """

    _how = "drawn by weight from {}"

    def _choose(self, pool: Sequence[_Scored]) -> _Scored:
        weights = [scored.slots / (1 + scored.score / _HALF_WEIGHT_SCORE) for scored in pool]
        return self._rng.choices(pool, weights)[0]

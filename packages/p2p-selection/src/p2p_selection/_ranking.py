"""Turns scores into an order that doesn't depend on the order of the list."""

from collections.abc import Sequence
from heapq import nlargest
from typing import Any, Protocol, TypeVar

from p2p_selection.candidates import Candidate


class _Score(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


_ScoreT = TypeVar("_ScoreT", bound=_Score)


def rank_all(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], digests: Sequence[int]) -> list[Candidate]:
    """Return all candidates, best score first; equal scores by digest, highest first, then by their ids, ascending."""
    places: Sequence[int] = range(len(candidates))
    if len(set(scores)) < len(candidates):
        by_ids = sorted(places, key=lambda place: _ids(candidates[place]))
        places = sorted(by_ids, key=digests.__getitem__, reverse=True)
    return [candidates[place] for place in sorted(places, key=scores.__getitem__, reverse=True)]


def rank_top(
    candidates: Sequence[Candidate], scores: Sequence[_ScoreT], digests: Sequence[int], k: int
) -> list[Candidate]:
    """Return the first `k` of what `rank_all` returns, without ordering the rest."""
    if not 0 < k < len(candidates):
        return rank_all(candidates, scores, digests) if k > 0 else []
    least = nlargest(k, scores)[-1]
    places = [place for place, score in enumerate(scores) if not score < least]
    return rank_all(
        [candidates[place] for place in places],
        [scores[place] for place in places],
        [digests[place] for place in places],
    )[:k]


def _ids(candidate: Candidate) -> tuple[str, str, int]:
    return candidate.mx_source_id, candidate.worker_id, candidate.worker_rank

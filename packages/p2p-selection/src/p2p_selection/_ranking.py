"""Turns scores into an order that doesn't depend on the order of the list."""

from collections.abc import Sequence
from heapq import nlargest
from typing import Any, Protocol, TypeVar

from p2p_selection._hashes import Hashes
from p2p_selection.candidates import Candidate


class _Score(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


_ScoreT = TypeVar("_ScoreT", bound=_Score)


def rank_all(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], hashes: Hashes) -> list[Candidate]:
    """Return all candidates, best score first; equal scores by digest, highest first, then by their ids, ascending."""
    if scores is hashes.units:
        return [candidates[place] for place in hashes.by_digest]
    # A stable sort of the places by digest leaves equal scores as they should be. Where that order isn't known from an
    # earlier list, it is worth its cost only if there are equal scores.
    ordered = hashes.reused or len(set(scores)) < len(candidates)
    places: Sequence[int] = hashes.by_digest if ordered else range(len(candidates))
    return [candidates[place] for place in sorted(places, key=scores.__getitem__, reverse=True)]


def rank_top(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], hashes: Hashes, k: int) -> list[Candidate]:
    """Return the first `k` of what `rank_all` returns, without ordering the rest."""
    if not 0 < k < len(candidates):
        return rank_all(candidates, scores, hashes) if k > 0 else []
    least = nlargest(k, scores)[-1]
    places = [place for place, score in enumerate(scores) if not score < least]
    source_ids, worker_ids, ranks = hashes.sources
    kept = (
        [source_ids[place] for place in places],
        [worker_ids[place] for place in places],
        [ranks[place] for place in places],
    )
    best = Hashes(kept, [hashes.digests[place] for place in places])
    return rank_all([candidates[place] for place in places], [scores[place] for place in places], best)[:k]

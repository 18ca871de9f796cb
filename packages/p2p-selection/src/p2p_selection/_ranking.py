"""Turns scores into an order that doesn't depend on the order of the list."""

from collections.abc import Sequence
from functools import partial
from heapq import nlargest
from typing import Any, Protocol, TypeVar

from p2p_selection._hashes import Hashes
from p2p_selection.candidates import Candidate


class _Score(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


_ScoreT = TypeVar("_ScoreT", bound=_Score)


def rank_all(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], hashes: Hashes) -> list[Candidate]:
    """Return all candidates, best score first; equal scores by digest, highest first, then by their ids, ascending."""
    if scores is hashes.units and hashes.reused:
        return [candidates[place] for place in hashes.by_digest]
    # Scores with tiers, unlike plain numbers, are nearly in order once they are in that of the digests.
    tiered = not isinstance(next(iter(scores), 0.0), float)
    if not (tiered and hashes.reused) and len(set(scores)) == len(candidates):
        # `sorted` asks for the key of each item once, in the order of the list: the next score is the item's own, and
        # nothing is looked up by place, which for 100,000 sources would take as long as the sort.
        return sorted(candidates, key=partial(next, iter(scores)), reverse=True)
    # A stable sort of the places by digest leaves equal scores as they should be.
    return [candidates[place] for place in sorted(hashes.by_digest, key=scores.__getitem__, reverse=True)]


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

from collections.abc import Sequence
from p2p_selection._hashes import Hashes as Hashes
from p2p_selection.candidates import Candidate as Candidate
from typing import Any, Protocol

class _Score(Protocol):
    def __lt__(self, other: Any) -> bool: ...

def rank_all(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], hashes: Hashes) -> list[Candidate]: ...
def rank_top(candidates: Sequence[Candidate], scores: Sequence[_ScoreT], hashes: Hashes, k: int) -> list[Candidate]: ...

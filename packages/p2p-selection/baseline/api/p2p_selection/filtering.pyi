from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from p2p_selection.candidates import Candidate as Candidate, Target as Target

DEFAULT_MAX_AGE_MS: int
AcceleratorRule = Callable[[str, str], bool]

class DropReason(StrEnum):
    MALFORMED = 'malformed'
    RANK = 'rank'
    OWN = 'own'
    STATUS = 'status'
    STALE = 'stale'
    ACCELERATOR = 'accelerator'

def accelerators_compatible(target: str, source: str, *, plain_weights: bool = True) -> bool: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    max_age_ms: int | None = ...
    accelerators: AcceleratorRule = ...
    def reason(self, candidate: Candidate, target: Target, now_ms: int) -> tuple[DropReason, str] | None: ...

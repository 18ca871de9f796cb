from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from p2p_selection.candidates import Candidate as Candidate
from p2p_selection.filtering import DropReason as DropReason

class Fate(StrEnum):
    CHOSEN = 'chosen'
    CANDIDATE = 'candidate'
    COOLING = 'cooling'
    DROPPED = 'dropped'

class Stage(StrEnum):
    LISTED = 'listed'
    RANK_MATCHED = 'rank_matched'
    ACCELERATOR_MATCHED = 'accelerator_matched'

@dataclass(frozen=True, slots=True)
class Verdict:
    entry: object
    candidate: Candidate | None
    fate: Fate
    reason: str = ...
    drop_reason: DropReason | None = ...

@dataclass(frozen=True, slots=True)
class Selection:
    policy: str
    sources: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    @property
    def dropped(self) -> Counter[DropReason]: ...
    @property
    def funnel(self) -> dict[Stage, int]: ...

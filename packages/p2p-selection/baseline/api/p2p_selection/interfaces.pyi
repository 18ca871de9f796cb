from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from p2p_selection._hashes import unit_hashes as unit_hashes
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.selection import Selection as Selection
from typing import Protocol

@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    digest: int
    counted_load: float | None = ...
    penalty: float | None = ...
    tier: int = ...
    score: float
    why: str = ...
    @property
    def unit_hash(self) -> float: ...

class SourceSelector(Protocol):
    name: str
    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]: ...
    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]: ...

class Accountable(Protocol):
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> Sequence[Account]: ...

class AttemptOutcome(StrEnum):
    SUCCESS = 'success'
    METADATA_MISS = 'metadata_miss'
    TRANSFER_RETRY = 'transfer_retry'
    TRANSFER_FALLBACK = 'transfer_fallback'

class SelectionHook(Protocol):
    def selected(self, selection: Selection, seconds: float) -> None: ...
    def listing_failed(self, policy: str, error: Exception) -> None: ...
    def attempted(self, policy: str, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None) -> None: ...

class Feedback(Protocol):
    def attempted(self, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None = None) -> None: ...

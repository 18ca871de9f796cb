import abc
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from p2p_selection._hashes import Hashes as Hashes
from p2p_selection._ranking import rank_all as rank_all, rank_top as rank_top
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.interfaces import Account as Account
from typing import Any

@dataclass(frozen=True, slots=True)
class Listing:
    candidates: Sequence[Candidate]
    hashes: Hashes
    target: Target
    @property
    def digests(self) -> Sequence[int]: ...
    @property
    def units(self) -> Sequence[float]: ...

class ScoredSelector(ABC, metaclass=abc.ABCMeta):
    name: str
    def __init__(self, digests: DigestCache | None) -> None: ...
    @abstractmethod
    def scores(self, listing: Listing) -> Sequence[Any]: ...
    @abstractmethod
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]: ...
    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]: ...
    def top(self, candidates: Iterable[Candidate], target: Target, k: int) -> list[Candidate]: ...
    def listing(self, candidates: Iterable[Candidate], target: Target) -> Listing: ...

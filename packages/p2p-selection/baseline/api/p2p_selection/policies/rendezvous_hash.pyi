from collections.abc import Iterable, Sequence
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.interfaces import Account as Account
from p2p_selection.policies._scored import Listing as Listing, ScoredSelector as ScoredSelector

class RendezvousHash(ScoredSelector):
    name: str
    def __init__(self, *, digests: DigestCache | None = None) -> None: ...
    def scores(self, listing: Listing) -> Sequence[float]: ...
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]: ...

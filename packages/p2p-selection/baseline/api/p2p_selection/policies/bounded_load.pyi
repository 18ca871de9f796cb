from collections.abc import Iterable, Sequence
from p2p_selection._checks import checked_unknown_load as checked_unknown_load
from p2p_selection.candidates import Candidate as Candidate, Target as Target, UNKNOWN_LOAD as UNKNOWN_LOAD
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.errors import SettingError as SettingError
from p2p_selection.interfaces import Account as Account
from p2p_selection.policies._loads import assumed_loads as assumed_loads
from p2p_selection.policies._scored import Listing as Listing, ScoredSelector as ScoredSelector

class BoundedLoad(ScoredSelector):
    name: str
    factor: float
    unknown_load: float
    def __init__(self, *, factor: float = 1.25, unknown_load: float = ..., digests: DigestCache | None = None) -> None: ...
    def scores(self, listing: Listing) -> Sequence[int]: ...
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]: ...

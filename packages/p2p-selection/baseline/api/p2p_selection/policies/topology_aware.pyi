from _typeshed import Incomplete
from collections.abc import Iterable, Mapping, Sequence
from p2p_selection.candidates import Candidate as Candidate, Target as Target, UNKNOWN_LOAD as UNKNOWN_LOAD
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.interfaces import Account as Account
from p2p_selection.policies._loads import WeightedSelector as WeightedSelector, assumed_loads as assumed_loads
from p2p_selection.policies._scored import Listing as Listing

DEFAULT_LEVELS: Incomplete

def shared_depth(one: Mapping[str, str], other: Mapping[str, str], levels: Sequence[str]) -> int: ...

class TopologyAware(WeightedSelector):
    name: str
    levels: tuple[str, ...]
    def __init__(self, *, levels: Sequence[str] = ..., weight: float = 0.0, unknown_load: float = ..., digests: DigestCache | None = None) -> None: ...
    def scores(self, listing: Listing) -> Sequence[tuple[int, float]]: ...
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]: ...

import abc
from p2p_selection._checks import checked_unknown_load as checked_unknown_load, checked_weight as checked_weight
from p2p_selection.candidates import UNKNOWN_LOAD as UNKNOWN_LOAD, known_load as known_load
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.policies._scored import Listing as Listing, ScoredSelector as ScoredSelector

class WeightedSelector(ScoredSelector, metaclass=abc.ABCMeta):
    weight: float
    unknown_load: float
    def __init__(self, *, weight: float = 1.0, unknown_load: float = ..., digests: DigestCache | None = None) -> None: ...

def assumed_loads(listing: Listing, unknown_load: float) -> list[float]: ...

from collections.abc import Iterable, Sequence
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.interfaces import Account as Account
from p2p_selection.policies._loads import WeightedSelector as WeightedSelector, assumed_loads as assumed_loads
from p2p_selection.policies._scored import Listing as Listing

LEAST_CAPACITY: float

class Spread(WeightedSelector):
    name: str
    def scores(self, listing: Listing) -> Sequence[float]: ...
    def accounts(self, candidates: Iterable[Candidate], target: Target) -> list[Account]: ...

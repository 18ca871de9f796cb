"""The policies; each ranks the candidates of one target, best first."""

from p2p_selection.policies._scored import Listing, ScoredSelector
from p2p_selection.policies.bounded_load import BoundedLoad
from p2p_selection.policies.load_aware import LoadAware
from p2p_selection.policies.random_order import RandomOrder
from p2p_selection.policies.rendezvous_hash import RendezvousHash
from p2p_selection.policies.spread import LEAST_CAPACITY, Spread
from p2p_selection.policies.topology_aware import DEFAULT_LEVELS, TopologyAware, shared_depth

__all__ = [
    "DEFAULT_LEVELS",
    "LEAST_CAPACITY",
    "BoundedLoad",
    "Listing",
    "LoadAware",
    "RandomOrder",
    "RendezvousHash",
    "ScoredSelector",
    "Spread",
    "TopologyAware",
    "shared_depth",
]

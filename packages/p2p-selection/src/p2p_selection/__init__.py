"""Which peer to pull model weights from: ranks candidates for one target, best first."""

from p2p_selection.candidates import UNKNOWN_LOAD, Candidate, Target, known_load
from p2p_selection.digests import DigestCache, KeyVersion, rendezvous_digest
from p2p_selection.interfaces import SourceSelector
from p2p_selection.policies import (
    DEFAULT_LEVELS,
    LEAST_CAPACITY,
    BoundedLoad,
    Listing,
    LoadAware,
    RandomOrder,
    RendezvousHash,
    ScoredSelector,
    Spread,
    TopologyAware,
    shared_depth,
)

__all__ = [
    "DEFAULT_LEVELS",
    "LEAST_CAPACITY",
    "UNKNOWN_LOAD",
    "BoundedLoad",
    "Candidate",
    "DigestCache",
    "KeyVersion",
    "Listing",
    "LoadAware",
    "RandomOrder",
    "RendezvousHash",
    "ScoredSelector",
    "SourceSelector",
    "Spread",
    "Target",
    "TopologyAware",
    "known_load",
    "rendezvous_digest",
    "shared_depth",
]

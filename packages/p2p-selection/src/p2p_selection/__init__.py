"""Which peer to pull model weights from: ranks candidates for one target, best first."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from p2p_selection.adapting import candidate_from
from p2p_selection.candidates import UNKNOWN_LOAD, Candidate, SourceKey, Target, known_load
from p2p_selection.digests import DigestCache, KeyVersion, rendezvous_digest
from p2p_selection.errors import (
    MalformedCandidateError,
    MetadataLookupError,
    MetadataMissError,
    NoSourceLeftError,
    SelectionError,
    SettingError,
)
from p2p_selection.interfaces import Account, Accountable, AttemptOutcome, Feedback, SelectionHook, SourceSelector
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

if TYPE_CHECKING:
    from p2p_selection.adjusting import AdjustedLoads, Decay, InFlight, LoadView, Steady
    from p2p_selection.attempting import attempt
    from p2p_selection.config import SelectionConfig
    from p2p_selection.explaining import Explanation
    from p2p_selection.filtering import (
        DEFAULT_MAX_AGE_MS,
        AcceleratorRule,
        CandidateFilter,
        DropReason,
        accelerators_compatible,
    )
    from p2p_selection.pipeline import SelectionPipeline
    from p2p_selection.registry import ENTRY_POINTS, SelectorFactory, get_selector, register_selector, selector_names
    from p2p_selection.selection import Fate, Selection, Stage, Verdict

__all__ = [
    "DEFAULT_LEVELS",
    "DEFAULT_MAX_AGE_MS",
    "ENTRY_POINTS",
    "LEAST_CAPACITY",
    "UNKNOWN_LOAD",
    "AcceleratorRule",
    "Account",
    "Accountable",
    "AdjustedLoads",
    "AttemptOutcome",
    "BoundedLoad",
    "Candidate",
    "CandidateFilter",
    "Decay",
    "DigestCache",
    "DropReason",
    "Explanation",
    "Fate",
    "Feedback",
    "InFlight",
    "KeyVersion",
    "Listing",
    "LoadAware",
    "LoadView",
    "MalformedCandidateError",
    "MetadataLookupError",
    "MetadataMissError",
    "NoSourceLeftError",
    "RandomOrder",
    "RendezvousHash",
    "ScoredSelector",
    "Selection",
    "SelectionConfig",
    "SelectionError",
    "SelectionHook",
    "SelectionPipeline",
    "SelectorFactory",
    "SettingError",
    "SourceKey",
    "SourceSelector",
    "Spread",
    "Stage",
    "Steady",
    "Target",
    "TopologyAware",
    "Verdict",
    "accelerators_compatible",
    "attempt",
    "candidate_from",
    "get_selector",
    "known_load",
    "register_selector",
    "rendezvous_digest",
    "selector_names",
    "shared_depth",
]

# Whoever only ranks imports the policies; the rest is imported when it is first used.
_LAZY = {
    "AcceleratorRule": "filtering",
    "AdjustedLoads": "adjusting",
    "CandidateFilter": "filtering",
    "DEFAULT_MAX_AGE_MS": "filtering",
    "Decay": "adjusting",
    "DropReason": "filtering",
    "ENTRY_POINTS": "registry",
    "Explanation": "explaining",
    "Fate": "selection",
    "InFlight": "adjusting",
    "LoadView": "adjusting",
    "Selection": "selection",
    "SelectionConfig": "config",
    "SelectionPipeline": "pipeline",
    "SelectorFactory": "registry",
    "Stage": "selection",
    "Steady": "adjusting",
    "Verdict": "selection",
    "accelerators_compatible": "filtering",
    "attempt": "attempting",
    "get_selector": "registry",
    "register_selector": "registry",
    "selector_names": "registry",
}


def __getattr__(name: str) -> Any:
    """Import the module that holds the name."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)

from p2p_selection.adapting import candidate_from as candidate_from
from p2p_selection.adjusting import AdjustedLoads as AdjustedLoads, Decay as Decay, InFlight as InFlight, LoadView as LoadView, Steady as Steady
from p2p_selection.attempting import attempt as attempt
from p2p_selection.candidates import Candidate as Candidate, SourceKey as SourceKey, Target as Target, UNKNOWN_LOAD as UNKNOWN_LOAD, known_load as known_load
from p2p_selection.config import SelectionConfig as SelectionConfig
from p2p_selection.digests import DigestCache as DigestCache, KeyVersion as KeyVersion, rendezvous_digest as rendezvous_digest
from p2p_selection.errors import MalformedCandidateError as MalformedCandidateError, MetadataLookupError as MetadataLookupError, MetadataMissError as MetadataMissError, NoSourceLeftError as NoSourceLeftError, SelectionError as SelectionError, SettingError as SettingError
from p2p_selection.explaining import Explanation as Explanation
from p2p_selection.filtering import AcceleratorRule as AcceleratorRule, CandidateFilter as CandidateFilter, DEFAULT_MAX_AGE_MS as DEFAULT_MAX_AGE_MS, DropReason as DropReason, accelerators_compatible as accelerators_compatible
from p2p_selection.interfaces import Account as Account, Accountable as Accountable, AttemptOutcome as AttemptOutcome, Feedback as Feedback, SelectionHook as SelectionHook, SourceSelector as SourceSelector
from p2p_selection.pipeline import SelectionPipeline as SelectionPipeline
from p2p_selection.policies import BoundedLoad as BoundedLoad, DEFAULT_LEVELS as DEFAULT_LEVELS, LEAST_CAPACITY as LEAST_CAPACITY, Listing as Listing, LoadAware as LoadAware, RandomOrder as RandomOrder, RendezvousHash as RendezvousHash, ScoredSelector as ScoredSelector, Spread as Spread, TopologyAware as TopologyAware, shared_depth as shared_depth
from p2p_selection.registry import ENTRY_POINTS as ENTRY_POINTS, SelectorFactory as SelectorFactory, get_selector as get_selector, register_selector as register_selector, selector_names as selector_names
from p2p_selection.selection import Fate as Fate, Selection as Selection, Stage as Stage, Verdict as Verdict

__all__ = ['candidate_from', 'UNKNOWN_LOAD', 'Candidate', 'SourceKey', 'Target', 'known_load', 'DigestCache', 'KeyVersion', 'rendezvous_digest', 'MalformedCandidateError', 'MetadataLookupError', 'MetadataMissError', 'NoSourceLeftError', 'SelectionError', 'SettingError', 'Account', 'Accountable', 'AttemptOutcome', 'Feedback', 'SelectionHook', 'SourceSelector', 'DEFAULT_LEVELS', 'LEAST_CAPACITY', 'BoundedLoad', 'Listing', 'LoadAware', 'RandomOrder', 'RendezvousHash', 'ScoredSelector', 'Spread', 'TopologyAware', 'shared_depth', 'AdjustedLoads', 'Decay', 'InFlight', 'LoadView', 'Steady', 'attempt', 'SelectionConfig', 'Explanation', 'DEFAULT_MAX_AGE_MS', 'AcceleratorRule', 'CandidateFilter', 'DropReason', 'accelerators_compatible', 'SelectionPipeline', 'ENTRY_POINTS', 'SelectorFactory', 'get_selector', 'register_selector', 'selector_names', 'Fate', 'Selection', 'Stage', 'Verdict']

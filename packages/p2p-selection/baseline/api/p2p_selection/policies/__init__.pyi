from p2p_selection.policies._scored import Listing as Listing, ScoredSelector as ScoredSelector
from p2p_selection.policies.bounded_load import BoundedLoad as BoundedLoad
from p2p_selection.policies.load_aware import LoadAware as LoadAware
from p2p_selection.policies.random_order import RandomOrder as RandomOrder
from p2p_selection.policies.rendezvous_hash import RendezvousHash as RendezvousHash
from p2p_selection.policies.spread import LEAST_CAPACITY as LEAST_CAPACITY, Spread as Spread
from p2p_selection.policies.topology_aware import DEFAULT_LEVELS as DEFAULT_LEVELS, TopologyAware as TopologyAware, shared_depth as shared_depth

__all__ = ['Listing', 'ScoredSelector', 'BoundedLoad', 'LoadAware', 'RandomOrder', 'RendezvousHash', 'LEAST_CAPACITY', 'Spread', 'DEFAULT_LEVELS', 'TopologyAware', 'shared_depth']

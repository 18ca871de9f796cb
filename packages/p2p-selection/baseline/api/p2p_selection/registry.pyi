from collections.abc import Callable
from p2p_selection.config import SelectionConfig as SelectionConfig
from p2p_selection.digests import DigestCache as DigestCache
from p2p_selection.interfaces import SourceSelector as SourceSelector
from p2p_selection.policies import BoundedLoad as BoundedLoad, LoadAware as LoadAware, RandomOrder as RandomOrder, RendezvousHash as RendezvousHash, Spread as Spread, TopologyAware as TopologyAware
from typing import Final

SelectorFactory = Callable[[SelectionConfig], SourceSelector]
ENTRY_POINTS: Final[str]

def register_selector(name: str, factory: SelectorFactory) -> None: ...
def selector_names() -> tuple[str, ...]: ...
def get_selector(name: str | None = None, config: SelectionConfig | None = None) -> SourceSelector: ...

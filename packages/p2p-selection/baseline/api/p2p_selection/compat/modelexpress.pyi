from collections.abc import Callable as Callable, Collection, Sequence
from p2p_selection.adapting import candidate_from as candidate_from
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.config import SelectionConfig as SelectionConfig
from p2p_selection.errors import MalformedCandidateError as MalformedCandidateError, SettingError as SettingError
from p2p_selection.interfaces import SourceSelector as SourceSelector
from p2p_selection.registry import get_selector as get_selector, selector_names as selector_names
from typing import Any

class PluggedSelector:
    name: str
    def __init__(self, selector: SourceSelector, config: SelectionConfig) -> None: ...
    def order(self, candidates: Sequence[Any], ctx: Any) -> list[Any]: ...

def register(names: Collection[str] | None = None) -> tuple[str, ...]: ...

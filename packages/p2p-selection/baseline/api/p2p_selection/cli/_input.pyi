from p2p_selection._checks import checked_weight as checked_weight
from p2p_selection.config import SelectionConfig as SelectionConfig
from p2p_selection.errors import SelectionError as SelectionError
from p2p_selection.interfaces import SourceSelector as SourceSelector
from p2p_selection.registry import get_selector as get_selector, selector_names as selector_names
from pathlib import Path

class InputError(SelectionError): ...

def read_sources(file: Path, model_name: str | None) -> list[object]: ...
def make_policy(policy: str | None, load_weight: float | None) -> tuple[SourceSelector, SelectionConfig]: ...

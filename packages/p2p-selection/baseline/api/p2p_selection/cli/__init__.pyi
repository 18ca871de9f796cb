from collections.abc import Sequence
from cyclopts import App
from p2p_selection.errors import SelectionError as SelectionError
from typing import Literal

app: App

def completion(shell: Literal['bash', 'fish', 'zsh'], /) -> None: ...
def run(arguments: Sequence[str]) -> int: ...

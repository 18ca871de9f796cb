from collections.abc import Sequence
from cyclopts import App
from nic_metrics.errors import MissingExtraError as MissingExtraError, NicMetricsError as NicMetricsError
from typing import Literal

app: App

def completion(shell: Literal['bash', 'fish', 'zsh'], /) -> None: ...
def run(arguments: Sequence[str]) -> int: ...

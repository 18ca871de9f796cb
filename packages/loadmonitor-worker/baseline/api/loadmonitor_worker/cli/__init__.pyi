from collections.abc import Sequence
from cyclopts import App
from loadmonitor_worker.cli._flags import in_flags as in_flags
from loadmonitor_worker.errors import ConfigError as ConfigError, LoadReporterError as LoadReporterError
from typing import Literal

app: App

def completion(shell: Literal['bash', 'fish', 'zsh'], /) -> None: ...
def run(arguments: Sequence[str]) -> int: ...

from collections.abc import Sequence
from cyclopts import App
from loadmonitor_router.cli._flags import in_flags as in_flags
from loadmonitor_router.errors import ConfigError as ConfigError, LoadMonitorRouterError as LoadMonitorRouterError
from typing import Literal

app: App

def completion(shell: Literal['bash', 'fish', 'zsh'], /) -> None: ...
def run(arguments: Sequence[str]) -> int: ...

from collections.abc import Sequence
from cyclopts import Parameter as Parameter
from p2p_registry._health import PING_EVERY_SECONDS as PING_EVERY_SECONDS, PING_SECONDS as PING_SECONDS
from p2p_registry.cli._connecting import NO_FLAGS as NO_FLAGS, RegistryFlags as RegistryFlags
from p2p_registry.cli._looking import Look as Look, Row as Row
from p2p_registry.cli._output import number as number, print_columns as print_columns, print_json as print_json, print_line as print_line
from p2p_registry.cli._stopping import stop_signals as stop_signals
from p2p_registry.errors import RegistryUnreachableError as RegistryUnreachableError, SettingError as SettingError
from p2p_registry.service import system_clock_ms as system_clock_ms
from typing import Annotated, Final

SCHEMA: Final[str]

def run_list(*, flags: RegistryFlags = ..., model: str | None = None, rank: int | None = None, watch: Annotated[bool, None] = False, interval_seconds: Annotated[float, None] = 2.0, timeout_seconds: Annotated[float, None] = 10.0, json_lines: Annotated[bool, None] = False) -> int: ...

class _Table:
    def show(self, rows: Sequence[Row], fault: str | None) -> None: ...

class _Changes:
    def __init__(self, *, json_lines: bool) -> None: ...
    def show(self, rows: Sequence[Row], fault: str | None) -> None: ...

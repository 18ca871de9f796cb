from cyclopts import Parameter as Parameter
from loadmonitor_worker._listen import format_address as format_address
from loadmonitor_worker.cli._settings import ServeFlags as ServeFlags, SourceFlags as SourceFlags, sidecar_settings as sidecar_settings
from loadmonitor_worker.cli._side_port import DRAIN as DRAIN, DRAIN_SECONDS as DRAIN_SECONDS, SIDE_PORT as SIDE_PORT
from loadmonitor_worker.errors import ConfigError as ConfigError
from typing import Annotated

def drain(*, timeout_seconds: Annotated[float, None] = ..., http_listen: str | None = None) -> int: ...

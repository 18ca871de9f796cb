from cyclopts import Parameter as Parameter
from loadmonitor_worker._redaction import without_password as without_password
from loadmonitor_worker.cli._options import closing as closing, make_source as make_source
from loadmonitor_worker.cli._settings import NO_SERVE_FLAGS as NO_SERVE_FLAGS, NO_SOURCE_FLAGS as NO_SOURCE_FLAGS, ServeFlags as ServeFlags, SidecarConfig as SidecarConfig, SourceFlags as SourceFlags, sidecar_settings as sidecar_settings
from loadmonitor_worker.settings import LoadedSettings as LoadedSettings, variable_of as variable_of
from typing import Annotated

SCHEMA: str

def config(*, source_flags: SourceFlags = ..., serve_flags: ServeFlags = ..., show_origin: bool = False, json_lines: Annotated[bool, None] = False) -> int: ...

from loadmonitor_worker.cli._logging import set_up_logging as set_up_logging
from loadmonitor_worker.cli._options import closing as closing, make_source as make_source, stop_signals as stop_signals
from loadmonitor_worker.cli._settings import NO_SERVE_FLAGS as NO_SERVE_FLAGS, NO_SOURCE_FLAGS as NO_SOURCE_FLAGS, ServeFlags as ServeFlags, SidecarConfig as SidecarConfig, SourceFlags as SourceFlags, sidecar_settings as sidecar_settings
from loadmonitor_worker.cli._side_port import SidePortConfig as SidePortConfig, side_port as side_port
from loadmonitor_worker.interfaces import LoadSnapshotSource as LoadSnapshotSource
from loadmonitor_worker.reporter import start_load_reporter as start_load_reporter

def serve(*, source_flags: SourceFlags = ..., serve_flags: ServeFlags = ...) -> int: ...

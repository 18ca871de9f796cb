from cyclopts import Parameter as Parameter
from dataclasses import dataclass
from loadmonitor_worker._tls import certificate_cache as certificate_cache
from loadmonitor_worker._validate import name_ranks as name_ranks, validate_ranks as validate_ranks
from loadmonitor_worker._verdict import Attempt as Attempt, ReportStatus as ReportStatus, judge as judge
from loadmonitor_worker.cli._filling import who_fills as who_fills
from loadmonitor_worker.cli._flags import in_flags as in_flags
from loadmonitor_worker.cli._options import closing as closing, make_http_source as make_http_source, make_source as make_source
from loadmonitor_worker.cli._settings import NO_SOURCE_FLAGS as NO_SOURCE_FLAGS, SidecarConfig as SidecarConfig, SourceFlags as SourceFlags, sidecar_settings as sidecar_settings
from loadmonitor_worker.errors import CredentialFileError as CredentialFileError, SourceError as SourceError
from loadmonitor_worker.interfaces import LoadSnapshotSource as LoadSnapshotSource
from loadmonitor_worker.sources import MetricsSource as MetricsSource, SglangHttpSource as SglangHttpSource, SglangShmSource as SglangShmSource, ShmVerdict as ShmVerdict, inspect_candidates as inspect_candidates
from typing import Annotated

SCHEMA: str

@dataclass(frozen=True, slots=True)
class Hop:
    ok: bool
    hop: str
    detail: str

def check(*, source_flags: SourceFlags = ..., json_lines: Annotated[bool, None] = False) -> int: ...

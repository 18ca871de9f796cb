"""The load-monitor wire contract, `sglang.router.loadmonitor.v1`: messages, enums and stream error codes.

The messages live in a descriptor pool of their own. A process may hold another copy of the same file or symbols, older
or newer, without conflict; the price is that messages cross between the copies as bytes, never by `CopyFrom`.

The gRPC seam is `loadmonitor_proto.service`; it needs the extra `loadmonitor-proto[grpc]`.
"""

from loadmonitor_proto.codes import StreamErrorCode, is_terminal
from loadmonitor_proto.unknown import UNKNOWABLE_FIELDS
from loadmonitor_proto.v1.load_monitor_pb2 import (
    DESCRIPTOR,
    POOL,
    KeepAlive,
    LoadReport,
    RankLoad,
    RegisterRequest,
    RegisterResponse,
    ReportStatus,
    RouterFrame,
    StopRequest,
    StreamError,
    UpdateConfigRequest,
    Worker,
    WorkerFrame,
    WorkerState,
    WorkerType,
)

__all__ = [
    "DESCRIPTOR",
    "POOL",
    "UNKNOWABLE_FIELDS",
    "KeepAlive",
    "LoadReport",
    "RankLoad",
    "RegisterRequest",
    "RegisterResponse",
    "ReportStatus",
    "RouterFrame",
    "StopRequest",
    "StreamError",
    "StreamErrorCode",
    "UpdateConfigRequest",
    "Worker",
    "WorkerFrame",
    "WorkerState",
    "WorkerType",
    "is_terminal",
]

from _typeshed import Incomplete
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from loadmonitor_router.connection import ConnectionState as ConnectionState
from loadmonitor_router.errors import DropReason as DropReason

DELIVERY_AGE_BOUNDS: Incomplete

class ReconnectReason(StrEnum):
    CONNECTION_LOST = 'connection_lost'
    CONNECT_TIMEOUT = 'connect_timeout'
    ACK_TIMEOUT = 'ack_timeout'
    NO_SERVICE = 'no_service'
    PROTOCOL_ERROR = 'protocol_error'
    SESSION_REPLACED = 'session_replaced'
    LEASE_EXPIRED = 'lease_expired'
    RESOURCE_EXHAUSTED = 'resource_exhausted'
    SHUTTING_DOWN = 'shutting_down'
    TLS = 'tls'
    @classmethod
    def of(cls, last_error: str | None) -> ReconnectReason: ...

class Histogram:
    def __init__(self, upper_bounds: Iterable[float] = ...) -> None: ...
    def observe(self, value: float) -> None: ...
    @property
    def sum(self) -> float: ...
    def cumulative(self) -> list[tuple[float, int]]: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorStats:
    reports_total: int = ...
    dropped_reports_total: Mapping[DropReason, int] = field(default_factory=Incomplete)
    reconnects_total: Mapping[ReconnectReason, int] = field(default_factory=Incomplete)
    sessions: Mapping[ConnectionState, int] = field(default_factory=Incomplete)
    delivery_age_seconds: Histogram = field(default_factory=Histogram)
    fail_open: bool | None = ...
    picks_total: Mapping[str, int] = field(default_factory=Incomplete)

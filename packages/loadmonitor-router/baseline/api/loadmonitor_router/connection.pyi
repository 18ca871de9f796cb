import loadmonitor_proto as wire
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from loadmonitor_router.errors import DropReason as DropReason

class ConnectionState(StrEnum):
    CONNECTING = 'connecting'
    REGISTERED = 'registered'
    BACKING_OFF = 'backing_off'
    FAILED = 'failed'
    CLOSED = 'closed'

class TlsFault(StrEnum):
    UNKNOWN_CA = 'unknown_ca'
    EXPIRED = 'expired'
    NOT_YET_VALID = 'not_yet_valid'
    WRONG_NAME = 'wrong_name'
    NO_CLIENT_CERTIFICATE = 'no_client_certificate'
    CLIENT_CERTIFICATE_REFUSED = 'client_certificate_refused'
    PLAINTEXT_WORKER = 'plaintext_worker'
    TLS_WORKER = 'tls_worker'
    CREDENTIAL_FILE = 'credential_file'
    OTHER = 'other'

@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    lease_ttl_ms: int
    renew_after_ms: int
    report_interval_ms: int | None
    stale_after_ms: int | None
    min_report_interval_ms: int | None
    max_lease_ttl_ms: int | None
    source_instance_id: str | None
    max_unacked_reports: int | None
    @classmethod
    def from_wire(cls, response: wire.RegisterResponse, *, window: int | None) -> Grant: ...
    def fault(self) -> str | None: ...

@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    state: ConnectionState
    since_ns: int
    retry_at_ns: int | None
    last_error: str | None
    grant: Grant | None
    reconnects: int
    received: int
    dropped: Mapping[DropReason, int]
    last_drop: str | None
    superseded: int
    tls_fault: TlsFault | None = ...

"""The state of a client's connection to its Worker, as one immutable value."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from loadmonitor_router.errors import DropReason

if TYPE_CHECKING:  # protobuf is needed by whoever has a message, not to describe a connection
    import loadmonitor_proto as wire


class ConnectionState(StrEnum):
    """Where a client stands."""

    CONNECTING = "connecting"
    """Dialling, or waiting for the registration to be acknowledged."""
    REGISTERED = "registered"
    """Reports may arrive."""
    BACKING_OFF = "backing_off"
    """The last attempt or stream ended; the next attempt starts at `Connection.retry_at_ns`."""
    FAILED = "failed"
    """The Worker refuses this router for good; it isn't dialled again."""
    CLOSED = "closed"
    """Not entered yet, or closed."""


class TlsFault(StrEnum):
    """What is wrong with the TLS of a connection that couldn't be had; `Connection.last_error` says what to change."""

    UNKNOWN_CA = "unknown_ca"
    """None of the client's CAs has signed the Worker's certificate."""
    EXPIRED = "expired"
    """The Worker's certificate has expired."""
    NOT_YET_VALID = "not_yet_valid"
    """The Worker's certificate isn't valid yet."""
    WRONG_NAME = "wrong_name"
    """The Worker's certificate is for another name."""
    NO_CLIENT_CERTIFICATE = "no_client_certificate"
    """The Worker hung up on a client without a certificate."""
    CLIENT_CERTIFICATE_REFUSED = "client_certificate_refused"
    """The Worker hung up on the client's certificate."""
    PLAINTEXT_WORKER = "plaintext_worker"
    """The client speaks TLS, the Worker doesn't."""
    TLS_WORKER = "tls_worker"
    """The Worker speaks TLS, the client doesn't."""
    CREDENTIAL_FILE = "credential_file"
    """A file of the client can't be used."""
    OTHER = "other"
    """The handshake failed for another reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the Worker granted; what a Worker of the first version doesn't tell is None.

    Attributes:
        lease_ttl_ms: The lease; above 0.
        renew_after_ms: When to renew it; above 0, below the lease.
        report_interval_ms: Time between reports.
        stale_after_ms: Age from which the Worker itself calls a report STALE.
        min_report_interval_ms: Shortest interval it grants.
        max_lease_ttl_ms: Longest lease it grants.
        source_instance_id: The reporter that answered.
        max_unacked_reports: The window that the Worker honours; None when reports don't wait for acknowledgements,
            because they are switched off or because the Worker shows no sign of knowing them.
    """

    lease_ttl_ms: int
    renew_after_ms: int
    report_interval_ms: int | None
    stale_after_ms: int | None
    min_report_interval_ms: int | None
    max_lease_ttl_ms: int | None
    source_instance_id: str | None
    max_unacked_reports: int | None

    @classmethod
    def from_wire(cls, response: "wire.RegisterResponse", *, window: int | None) -> "Grant":
        """Read an acknowledgement.

        Args:
            response: The message.
            window: The `max_unacked_reports` that was asked for, or None. It counts as granted when the response
                carries all of the extension's fields: only a Worker that speaks the extension knows to send them.
        """
        extended = {
            name: getattr(response, name) if response.HasField(name) else None
            for name in ("report_interval_ms", "stale_after_ms", "min_report_interval_ms", "max_lease_ttl_ms")
        }
        instance = response.source_instance_id or None
        speaks_extension = instance is not None and None not in extended.values()
        return cls(
            lease_ttl_ms=response.lease_ttl_ms,
            renew_after_ms=response.renew_after_ms,
            source_instance_id=instance,
            max_unacked_reports=window if speaks_extension else None,
            **extended,
        )

    def fault(self) -> str | None:
        """Return what makes this grant unusable, or None."""
        for name in ("lease_ttl_ms", "renew_after_ms", "report_interval_ms"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                return f"the acknowledgement grants {name}={value}"
        if self.renew_after_ms >= self.lease_ttl_ms:
            return f"the acknowledgement's renew_after_ms={self.renew_after_ms} isn't below its lease_ttl_ms={self.lease_ttl_ms}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A client's connection at one moment.

    Attributes:
        state: Where the client stands.
        since_ns: When it got there, on the client's monotonic clock.
        retry_at_ns: When it dials again; None unless backing off.
        last_error: Why the last attempt or stream ended; kept while the next one works. None when none ended yet.
        grant: What the Worker granted; None unless registered.
        reconnects: Attempts after the first one.
        received: Reports that arrived, dropped ones included.
        dropped: Reports dropped, by reason.
        last_drop: Why the newest of them was dropped, or None.
        superseded: Valid reports that a newer one replaced before the consumer took them.
        tls_fault: What is wrong with TLS or its files where `last_error` speaks of that, else None.
    """

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
    tls_fault: TlsFault | None = None

"""What a monitor counts about itself, in the shape that an exporter reads."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from loadmonitor_router.connection import ConnectionState
from loadmonitor_router.errors import DropReason

DELIVERY_AGE_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)
"""Seconds: from a report delivered within a host, over the default interval and freshness window, to a long stall."""


class ReconnectReason(StrEnum):
    """Why a stream ended or never began, so that the Worker was dialled again."""

    CONNECTION_LOST = "connection_lost"
    """The connection was refused or broke, or the Worker ended the stream without a word."""
    CONNECT_TIMEOUT = "connect_timeout"
    """Nobody answered the dialling in time."""
    ACK_TIMEOUT = "ack_timeout"
    """The registration wasn't acknowledged in time."""
    NO_SERVICE = "no_service"
    """The peer has no load reporter."""
    PROTOCOL_ERROR = "protocol_error"
    """The Worker broke the rules of the stream."""
    SESSION_REPLACED = "session_replaced"
    """Another router registered under this router's id."""
    LEASE_EXPIRED = "lease_expired"
    """The Worker heard nothing from this router for a whole lease."""
    RESOURCE_EXHAUSTED = "resource_exhausted"
    """The Worker serves as many routers, or as many frames, as it allows itself."""
    SHUTTING_DOWN = "shutting_down"
    """The Worker is going away."""
    TLS = "tls"
    """The TLS handshake failed, or a certificate, key or token file can't be used."""

    @classmethod
    def of(cls, last_error: str | None) -> "ReconnectReason":
        """Return the reason that `Connection.last_error` tells; CONNECTION_LOST when it is none of the others."""
        text = last_error or ""
        return next((reason for start, reason in _STARTS.items() if text.startswith(start)), _anywhere(text))


_STARTS = {
    "no connection within": ReconnectReason.CONNECT_TIMEOUT,
    "registration not acknowledged": ReconnectReason.ACK_TIMEOUT,
    "protocol error": ReconnectReason.PROTOCOL_ERROR,
    "SESSION_REPLACED:": ReconnectReason.SESSION_REPLACED,
    "LEASE_EXPIRED:": ReconnectReason.LEASE_EXPIRED,
    "RESOURCE_EXHAUSTED:": ReconnectReason.RESOURCE_EXHAUSTED,
    "SHUTTING_DOWN:": ReconnectReason.SHUTTING_DOWN,
    "TLS:": ReconnectReason.TLS,
    "credentials:": ReconnectReason.TLS,
}


def _anywhere(text: str) -> ReconnectReason:
    return ReconnectReason.NO_SERVICE if "gRPC UNIMPLEMENTED" in text else ReconnectReason.CONNECTION_LOST


class Histogram:
    """How often values up to some bounds were observed; one thread observes, any may read."""

    def __init__(self, upper_bounds: Iterable[float] = DELIVERY_AGE_BOUNDS) -> None:
        """Start empty.

        Args:
            upper_bounds: Ascending, finite; what is above the last one counts too.
        """
        self._bounds = tuple(upper_bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    @property
    def sum(self) -> float:
        """The sum of all values."""
        return self._sum

    def cumulative(self) -> list[tuple[float, int]]:
        """Return (upper bound, number of values up to it), the last bound being infinite."""
        total = 0
        pairs = []
        for bound, number in zip((*self._bounds, float("inf")), tuple(self._counts), strict=True):
            total += number
            pairs.append((bound, total))
        return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorStats:
    """What a monitor has counted since it was built, Workers that are gone included. Counters never fall.

    A word that is missing from a mapping counts as 0. A router that picks adds its own part:
    `replace(monitor.stats, fail_open=False, picks_total={"least_loaded": 0})`.

    Attributes:
        reports_total: Reports that arrived, dropped ones included.
        dropped_reports_total: Reports dropped, by reason.
        reconnects_total: Attempts to dial a Worker again, by why the last one ended.
        sessions: Workers by the state of their connection, now.
        delivery_age_seconds: How old reports were when they were received: own age plus delivery delay; those of unknown age
            not counted.
        fail_open: Whether picks ignore load because no Worker is fresh, now; None when nobody picks.
        picks_total: Picks by the name of their policy; a policy in use is there from the start, with 0.
    """

    reports_total: int = 0
    dropped_reports_total: Mapping[DropReason, int] = field(default_factory=lambda: MappingProxyType({}))
    reconnects_total: Mapping[ReconnectReason, int] = field(default_factory=lambda: MappingProxyType({}))
    sessions: Mapping[ConnectionState, int] = field(default_factory=lambda: MappingProxyType({}))
    delivery_age_seconds: Histogram = field(default_factory=Histogram)
    fail_open: bool | None = None
    picks_total: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

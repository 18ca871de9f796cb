"""Validated settings of the reporter."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from loadmonitor_worker.errors import SettingError


class WorkerType(StrEnum):
    """What the engine serves."""

    REGULAR = "regular"
    PREFILL = "prefill"
    DECODE = "decode"


_LEAST = {
    "stale_after_ms": 1,
    "publish_interval_ms": 1,
    "min_report_interval_ms": 1,
    "max_lease_ttl_ms": 2,
    "max_sessions": 1,
    "max_frames_per_second": 1,
    "pull_budget_ms": 1,
    "orca_min_interval_ms": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReporterConfig:
    """Settings of one load reporter.

    Attributes:
        port: TCP port to listen on, 1 to 65535; 0 takes any free port; None switches reporting off.
        host: Address to listen on; the default reaches this machine only.
        worker_addr: Where requests reach this engine, for people to read in reports; "" sends none.
        worker_type: What the engine serves.
        model: Name of the served model, or None.
        zone: Placement label, or None.
        stale_after_ms: A rank whose snapshot is older than this makes the report STALE; above 0.
        publish_interval_ms: How often the engine publishes its load, above 0, or None when that isn't known. A
            `stale_after_ms` below it is refused, because it would make every report STALE between two publications.
        min_report_interval_ms: Shortest report interval granted to a router; above 0.
        max_lease_ttl_ms: Longest lease granted to a router; at least 2.
        max_sessions: Most routers served at once; above 0.
        max_frames_per_second: Most frames read from one router, as a mean over a second; above 0. A router that acknowledges
            sends one a report.
        orca: Whether the port serves ORCA's out-of-band reports too, to clients of gRPC and Envoy that balance load.
        orca_min_interval_ms: Shortest interval granted to an ORCA client, and that of a client which asks for none; above 0.
            As many ORCA clients are served at once as routers.
        alignment: Where a session's deadlines lie. "registration": at multiples of its interval since it registered.
            "epoch": at multiples of its interval on one scale for all sessions, so that equal and harmonic intervals
            share their reads whenever they registered.
        pull_budget_ms: Time one fire may spend on reading the source, its one retry included; above 0.
        overshoot: What happens to a rank with more tokens used, or requests running, than it has capacity for:
            "strict" makes the report UNREACHABLE, "clamp" caps the value and counts it.
        tls_cert_file: PEM file of the certificate that routers see, with its intermediates; with `tls_key_file` it switches TLS
            on. These files are looked at once a second: a change counts for new connections.
        tls_key_file: PEM file of its key, not encrypted.
        tls_client_ca_file: PEM file of the CAs that sign routers' certificates; with it, only who has one can connect.
        allow_router: NAME=ROUTER_ID pairs: which router_id a name of a client certificate may register; an id that ends in `*`
            stands for all that start so. Empty allows every id.
        auth_token_file: File of bearer tokens, one a line; a router must send one of them to register.

    Raises:
        SettingError: A value is out of range, or contradicts another.
    """

    port: int | None
    host: str = "127.0.0.1"
    worker_addr: str = ""
    worker_type: WorkerType = WorkerType.REGULAR
    model: str | None = None
    zone: str | None = None
    stale_after_ms: int = 3_000
    publish_interval_ms: int | None = None
    min_report_interval_ms: int = 10
    max_lease_ttl_ms: int = 300_000
    max_sessions: int = 1_024
    max_frames_per_second: int = 1_000
    orca: bool = False
    orca_min_interval_ms: int = 1_000
    alignment: Literal["registration", "epoch"] = "registration"
    pull_budget_ms: int = 1_000
    overshoot: Literal["strict", "clamp"] = "strict"
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    allow_router: tuple[str, ...] = ()
    auth_token_file: Path | None = None

    def __post_init__(self) -> None:
        if self.port is not None and not (type(self.port) is int and 0 <= self.port <= 65_535):
            raise SettingError("port", self.port, "is not a TCP port: allowed are 0 (any free port) to 65535, or None")
        if not self.host.strip():
            raise SettingError("host", self.host, "is blank: give an address such as 127.0.0.1 or 0.0.0.0")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if (type(value) is not int or value < least) and (value is not None or name != "publish_interval_ms"):
                raise SettingError(name, value, f"is not allowed: an integer of at least {least} is")
        for name, choices in (("overshoot", ("strict", "clamp")), ("alignment", ("registration", "epoch"))):
            if getattr(self, name) not in choices:
                raise SettingError(name, getattr(self, name), f"is not allowed: {' or '.join(map(repr, choices))} is")
        try:
            object.__setattr__(self, "worker_type", WorkerType(self.worker_type))
        except ValueError:
            rule = f"is not allowed: one of {', '.join(WorkerType)} is"
            raise SettingError("worker_type", self.worker_type, rule) from None
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        least, published = self.min_report_interval_ms, self.publish_interval_ms
        if self.max_lease_ttl_ms < 2 * least:
            raise SettingError(
                "max_lease_ttl_ms",
                self.max_lease_ttl_ms,
                f"is too short for the shortest report interval, {least} ms: a lease must outlast its interval, so use at "
                f"least {2 * least}",
                related=("min_report_interval_ms",),
            )
        if published is not None and self.stale_after_ms < published:
            raise SettingError(
                "stale_after_ms",
                self.stale_after_ms,
                f"is below the engine's publish interval, {published} ms: use at least {3 * published}",
                related=("publish_interval_ms",),
            )
        self._refuse_insecurity()

    def _refuse_insecurity(self) -> None:
        """Refuse settings that promise a protection which isn't there."""
        for name, needed in (
            ("tls_cert_file", "tls_key_file"),
            ("tls_key_file", "tls_cert_file"),
            ("tls_client_ca_file", "tls_cert_file"),
            ("allow_router", "tls_client_ca_file"),
        ):
            if getattr(self, name) and getattr(self, needed) is None:
                raise SettingError(name, f"{getattr(self, name)}", f"needs {needed}: give both", related=(needed,))
        for pair in self.allow_router:
            certified, sign, router_id = pair.partition("=")
            if not (certified and sign and router_id):
                raise SettingError(
                    "allow_router", pair, "is not allowed: NAME=ROUTER_ID is, such as spiffe://cluster/a=a"
                )
        if self.auth_token_file is not None and self.tls_cert_file is None and not is_loopback(self.host):
            raise SettingError(
                "auth_token_file",
                f"{self.auth_token_file}",
                f"would have tokens sent in plaintext to {self.host}: give tls_cert_file and tls_key_file too",
                related=("host", "tls_cert_file"),
            )


def is_loopback(host: str) -> bool:
    """Tell whether an address reaches this machine only; a name other than localhost is taken to reach further."""
    bare = host.strip("[]")
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return bare.lower() == "localhost"

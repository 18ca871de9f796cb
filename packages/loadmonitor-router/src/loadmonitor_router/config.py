"""Validated settings of a client, and the addresses it may dial."""

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address

from loadmonitor_router._redaction import without_password
from loadmonitor_router.errors import ConfigError

_INT64_MAX = 2**63 - 1
_UINT32_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What a client tells a Worker, and how long it waits.

    Attributes:
        router_id: Names this router at the Worker; two routers with one id replace each other. Not blank.
        report_interval_ms: Wished time between reports; above 0. The Worker may grant another.
        lease_ttl_ms: Wished lease: a Worker that hears nothing for this long forgets the router; above 0.
        max_unacked_reports: Reports that may be under way at once. None switches acknowledging off: then the Worker sends
            at its own pace, and what a stalled router is handed afterwards may be old.
        connect_timeout_ms: Time to get a connection; above 0.
        ack_timeout_ms: Time to have the registration acknowledged; above 0.

    Raises:
        ConfigError: A value is out of range.
    """

    router_id: str
    report_interval_ms: int = 1_000
    lease_ttl_ms: int = 15_000
    max_unacked_reports: int | None = 1
    connect_timeout_ms: int = 2_000
    ack_timeout_ms: int = 2_000

    def __post_init__(self) -> None:
        if not self.router_id.strip():
            raise ConfigError(f"router_id={self.router_id!r} is blank: give a name that no other router uses")
        for name, most in (
            ("report_interval_ms", _INT64_MAX),
            ("lease_ttl_ms", _INT64_MAX),
            ("connect_timeout_ms", _INT64_MAX),
            ("ack_timeout_ms", _INT64_MAX),
            ("max_unacked_reports", _UINT32_MAX),
        ):
            value = getattr(self, name)
            if value is None and name == "max_unacked_reports":
                continue
            if type(value) is not int or not 1 <= value <= most:
                raise ConfigError(f"{name}={value!r} is not allowed: an integer from 1 to {most} is")


def normalize_address(address: str) -> str:
    """Return the address of a Worker's load reporter in the one form that two equal addresses share.

    Host names become lower case, IPv6 addresses their shortest form in brackets.

    Args:
        address: `host:port`, `10.0.0.1:50061` or `[2001:db8::1]:50061`.

    Raises:
        ConfigError: It is none of these; the message says what is wrong.
    """
    host, separator, port = address.rpartition(":")
    if "/" in address:
        raise _bad_address(address, "leave out the scheme and the path")
    if not separator or not host:
        raise _bad_address(address, "the port is missing" if host or not separator else "the host is missing")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65_535):
        raise _bad_address(address, f"port {port!r} is not between 1 and 65535")
    if host.startswith("[") and host.endswith("]"):
        try:
            return f"[{IPv6Address(host[1:-1])}]:{int(port)}"
        except AddressValueError as error:
            raise _bad_address(address, str(error)) from None
    if ":" in host:
        raise _bad_address(address, "put an IPv6 address in brackets")
    if any(character.isspace() or character in "[]@,?#%" for character in host):
        raise _bad_address(address, f"{without_password(host)!r} is not a host name")
    return f"{host.lower()}:{int(port)}"


def _bad_address(address: str, why: str) -> ConfigError:
    return ConfigError(
        f"address {without_password(address)!r} can't be dialled: {why}; allowed are host:port and [ipv6]:port"
    )

"""What a client shows to Workers and asks of them: the files of its certificates and of its token."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from loadmonitor_router.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The files, and the name, by which a client and its Workers know each other; all None is plaintext.

    The files are read at each dialling, so that what was exchanged counts from the next connection on. Nothing that they hold
    is kept here or told anywhere.

    Attributes:
        tls_ca_file: PEM file of the CAs that sign Workers' certificates; it switches TLS on.
        tls_cert_file: PEM file of this router's own certificate, for Workers that ask for one; with `tls_key_file`.
        tls_key_file: PEM file of its key, not encrypted.
        tls_server_name: Name that must stand in a Worker's certificate instead of the host that is dialled.
        token_file: File that holds the bearer token to send, one line. Only with TLS, or to this machine.

    Raises:
        ConfigError: One of them needs another.
    """

    tls_ca_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_server_name: str | None = None
    token_file: Path | None = None

    def __post_init__(self) -> None:
        for name, needed in (
            ("tls_cert_file", "tls_ca_file"),
            ("tls_cert_file", "tls_key_file"),
            ("tls_key_file", "tls_cert_file"),
            ("tls_server_name", "tls_ca_file"),
        ):
            if getattr(self, name) is not None and getattr(self, needed) is None:
                raise ConfigError(f"{name}={getattr(self, name)} needs {needed} too: give both")
        if self.tls_server_name is not None and not self.tls_server_name.strip():
            raise ConfigError(
                "tls_server_name='' is blank: give the name in the Workers' certificates, or leave it out"
            )

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken."""
        return self.tls_ca_file is not None

    def check_address(self, address: str) -> None:
        """Refuse to send a token to this address where anybody could read it.

        Raises:
            ConfigError: It would be sent in plaintext to another machine.
        """
        if self.token_file is not None and not self.encrypted and not _is_loopback(address.rpartition(":")[0]):
            raise ConfigError(
                f"token_file={self.token_file} would send its token in plaintext to {address}: give tls_ca_file too"
            )

    def channel_options(self) -> dict[str, int | str]:
        """Return the gRPC channel options that belong to these."""
        return {} if self.tls_server_name is None else {"grpc.ssl_target_name_override": self.tls_server_name}


PLAINTEXT = Credentials()
"""No TLS and no token: the default."""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"

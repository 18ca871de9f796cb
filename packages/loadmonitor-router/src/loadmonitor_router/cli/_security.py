"""The flags by which a command and the Workers know each other."""

from dataclasses import asdict, dataclass
from pathlib import Path

from cyclopts import Parameter

from loadmonitor_router.credentials import Credentials


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityFlags:
    """TLS and the bearer token; the files are read at each dialling.

    Args:
        tls_ca_file: PEM file of the CAs that sign Workers' certificates; switches TLS on.
        tls_cert_file: PEM file of a certificate of this command's own, for Workers that ask for one.
        tls_key_file: PEM file of its key, not encrypted.
        tls_server_name: Name in the Workers' certificates, where it isn't the host that is dialled.
        token_file: File that holds a bearer token to send; only with TLS, or to this machine.
    """

    tls_ca_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_server_name: str | None = None
    token_file: Path | None = None

    def credentials(self) -> Credentials:
        """Return what the flags say.

        Raises:
            ConfigError: One of them needs another.
        """
        return Credentials(**asdict(self))


NO_SECURITY = SecurityFlags()

"""Reads the files of a client's credentials, and refuses what no handshake could succeed with."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from loadmonitor_router.credentials import Credentials
from loadmonitor_router.errors import CredentialFileError

_LONGEST_TOKEN = 4_096


@dataclass(frozen=True, slots=True)
class TlsMaterial:
    """What the certificate files held at one moment."""

    ca: bytes
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)


def read_tls(given: Credentials) -> TlsMaterial | None:
    """Return what the certificate files hold now, or None for plaintext.

    Raises:
        CredentialFileError: One of them can't be used.
    """
    if given.tls_ca_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca = _content("tls_ca_file", given.tls_ca_file)
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError):
        raise CredentialFileError("tls_ca_file", given.tls_ca_file, "it holds no PEM certificate") from None
    if given.tls_cert_file is None or given.tls_key_file is None:
        return TlsMaterial(ca)
    certificate = _content("tls_cert_file", given.tls_cert_file)
    key = _content("tls_key_file", given.tls_key_file)
    try:
        context.load_cert_chain(given.tls_cert_file, given.tls_key_file, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        why = f"with the certificate in {given.tls_cert_file} it is no PEM pair, unencrypted ({reason or 'unreadable'})"
        raise CredentialFileError("tls_key_file", given.tls_key_file, why) from None
    return TlsMaterial(ca, certificate, key)


def read_metadata(given: Credentials) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call: the token, where there is one.

    Raises:
        CredentialFileError: The file holds no token.
    """
    if given.token_file is None:
        return ()
    token = _content("token_file", given.token_file).strip()
    if not 0 < len(token) <= _LONGEST_TOKEN or not all(0x21 <= byte <= 0x7E for byte in token):
        why = f"it doesn't hold one line of 1 to {_LONGEST_TOKEN} printable ASCII characters"
        raise CredentialFileError("token_file", given.token_file, why)
    return (("authorization", f"Bearer {token.decode('ascii')}"),)


def _content(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialFileError(setting, path, f"{error.strerror}") from None


def _no_password() -> str:
    """Answer for an encrypted key, which OpenSSL would otherwise ask for on the terminal."""
    return ""

"""The files of a server's certificates and tokens, looked at again and again: what has changed counts without a restart."""

import asyncio
import hmac
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import grpc

from p2p_registry.errors import CredentialFileError

_log = logging.getLogger(__name__)
_LONGEST_TOKEN_FILE = 65_536

_Content = TypeVar("_Content")


class Refreshable(Protocol):
    """Something that was read from files."""

    def refresh(self) -> None:
        """Read the files again; may take its time."""


async def refresh_forever(
    files: Sequence[Refreshable], *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
) -> None:
    """Look at the files once a second, in a thread, so that the event loop never waits for a disk."""
    while True:
        await sleep(1)
        for each in files:
            await asyncio.to_thread(each.refresh)


class Kept(Generic[_Content]):
    """The last good content of some files.

    Content counts once two looks in a row have found it, so files that are exchanged one after another are never taken half old
    and half new. What can't be used leaves the content before, and is logged once.
    """

    def __init__(self, read: Callable[[], _Content]) -> None:
        """Read the files.

        Raises:
            CredentialFileError: They can't be used.
        """
        self._read = read
        self.content: _Content = read()
        self._seen: tuple[_Content, str | None] = (self.content, None)
        self._told: str | None = None

    def refresh(self) -> bool:
        """Look once more, and return whether there is new content."""
        try:
            seen: tuple[_Content, str | None] = (self._read(), None)
        except CredentialFileError as error:
            seen = (self.content, str(error))
        certain, self._seen = seen == self._seen, seen
        if not certain:
            return False
        content, fault = seen
        if fault != self._told:
            self._told = fault
            if fault is None:
                _log.info("the files can be used again")
            else:
                _log.warning("%s; what was read before stands", fault)
        changed = content != self.content
        self.content = content
        return changed


class CertificateFiles:
    """What gRPC serves TLS with: a certificate with its key, and the CAs that clients' certificates must be of, or None."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        """Read the files.

        Raises:
            CredentialFileError: One of them can't be used.
        """
        self._paths: Mapping[str, Path] = {"tls_cert_file": certificate, "tls_key_file": key}
        if client_ca is not None:
            self._paths = {**self._paths, "tls_client_ca_file": client_ca}
        self._kept = Kept(self._checked)
        self._fresh: grpc.ServerCertificateConfiguration | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Return what to listen with; each handshake has the newest good content."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(),
            self._fetch,  # type: ignore[arg-type] # the stub leaves out None, by which gRPC keeps what it has
            require_client_authentication="tls_client_ca_file" in self._paths,
        )

    def refresh(self) -> None:
        """Look at the files; see `Kept`."""
        changed = self._kept.refresh()
        if changed:
            _log.info("the certificate files have changed: new connections get the new ones")
        # With client certificates always anew: gRPC then forgets its TLS sessions, which would let in expired ones.
        if changed or "tls_client_ca_file" in self._paths:
            self._fresh = self._configuration()

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what this handshake must take in, or None; gRPC calls it on threads of its own."""
        fresh, self._fresh = self._fresh, None
        return fresh

    def _configuration(self) -> grpc.ServerCertificateConfiguration:
        content = self._kept.content
        pair = (content["tls_key_file"], content["tls_cert_file"])
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=content.get("tls_client_ca_file"))

    def _checked(self) -> dict[str, bytes]:
        content = {setting: _bytes(setting, path) for setting, path in self._paths.items()}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if "tls_client_ca_file" in content:
            check_ca("tls_client_ca_file", self._paths["tls_client_ca_file"], content["tls_client_ca_file"])
        certificate, key = self._paths["tls_cert_file"], self._paths["tls_key_file"]
        try:
            # The empty answer is for an encrypted key, which OpenSSL would ask for on the terminal.
            context.load_cert_chain(certificate, key, password=lambda: "")
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                why = f"it isn't the key of the certificate in {certificate}"
                raise CredentialFileError("tls_key_file", key, why) from None
            at_fault = "tls_key_file" if b"-----BEGIN CERTIFICATE" in content["tls_cert_file"] else "tls_cert_file"
            why = f"certificate chain and unencrypted key in PEM are needed ({error.reason or 'unreadable'})"
            raise CredentialFileError(at_fault, self._paths[at_fault], why) from None
        except OSError as error:
            raise CredentialFileError("tls_cert_file", certificate, f"{error.strerror}") from None
        return content


class TokenFile:
    """The bearer tokens that are taken, one a line, so that the next one can be allowed before its clients change to it."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            CredentialFileError: It can't be read, or holds no token.
        """
        self._path = path
        self._kept = Kept(self._digests)

    def refresh(self) -> None:
        """Look at the file; see `Kept`."""
        if self._kept.refresh():
            _log.info("the token file has changed; tokens taken: %d", len(self._kept.content))

    def refusal(self, authorizations: Sequence[str | bytes]) -> str | None:
        """Return None for one `Bearer` value with a token of the file, else why not.

        Args:
            authorizations: The call's values of the metadata key `authorization`.
        """
        if len(authorizations) != 1:
            return f"{len(authorizations)} authorization values were sent: one, 'Bearer TOKEN', is needed"
        value = authorizations[0]
        scheme, _, token = (value if isinstance(value, str) else "").partition(" ")
        digest = sha256(token.strip().encode()).digest()
        # All of them, each in constant time: how long this takes tells nothing of a token.
        matches = [hmac.compare_digest(digest, known) for known in self._kept.content]
        if scheme.lower() == "bearer" and any(matches):
            return None
        return "the bearer token isn't one that this registry takes"

    def _digests(self) -> tuple[bytes, ...]:
        content = _bytes("auth_token_file", self._path)
        tokens = [token for line in content.split(b"\n") if (token := line.strip())]
        if len(content) > _LONGEST_TOKEN_FILE:
            raise CredentialFileError("auth_token_file", self._path, f"it is longer than {_LONGEST_TOKEN_FILE} bytes")
        if not tokens:
            raise CredentialFileError("auth_token_file", self._path, "it holds no token: write one a line")
        if any(not 0x21 <= byte <= 0x7E for token in tokens for byte in token):
            raise CredentialFileError("auth_token_file", self._path, "a token holds other than printable ASCII")
        return tuple(sha256(token).digest() for token in tokens)


def check_ca(setting: str, path: Path, content: bytes) -> None:
    """Check what a file of CAs holds.

    Raises:
        CredentialFileError: It holds no certificate.
    """
    try:
        # Bundles name their CAs in comments, which need not be ASCII.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=content.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError):
        raise CredentialFileError(setting, path, "it holds no PEM certificate") from None


def _bytes(setting: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(2**20)
    except OSError as error:
        raise CredentialFileError(setting, path, f"{error.strerror}") from None

"""The certificate files of a reporter: read, checked, and handed to gRPC whenever they have changed."""

import logging
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import grpc

from loadmonitor_worker._validity import not_after
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import CredentialFileError

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Material:
    """What the files hold."""

    certificate: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None


class CertificateCache:
    """The newest good content of the files; gRPC asks for it at each handshake, on threads of its own.

    `refresh` reads files and may take its time; `fetch` only takes what lies ready, so that no handshake waits for a disk.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        client_ca: Path | None,
        unix_seconds: Callable[[], float] = time.time,
    ) -> None:
        """Read the files.

        Raises:
            CredentialFileError: One of them can't be used.
        """
        self._paths = (("tls_cert_file", certificate), ("tls_key_file", key), ("tls_client_ca_file", client_ca))
        self._unix_seconds = unix_seconds
        self._expired: bytes | None = None
        self._suspected: str | None = None
        self._told: str | None = None
        self._material = self._read()
        self._check(self._material)
        if self._read() != self._material:
            raise CredentialFileError("tls_cert_file", certificate, "it was exchanged while it was read: start again")
        self._fresh: deque[grpc.ServerCertificateConfiguration] = deque(maxlen=1)

    def credentials(self) -> grpc.ServerCredentials:
        """Return what gRPC serves with from now on."""
        return grpc.dynamic_ssl_server_credentials(
            _configuration(self._material),
            # The stub leaves out None, which gRPC takes for "as before": a configuration would be parsed at each handshake.
            cast("Callable[[], grpc.ServerCertificateConfiguration]", self.fetch),
            require_client_authentication=self._material.client_ca is not None,
        )

    def fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what gRPC must take in before this handshake, or None. Any thread may call it."""
        try:
            return self._fresh.pop()
        except IndexError:
            return None

    def refresh(self) -> None:
        """Take in files that have changed; keep what there was when they can't be used, and say so once.

        A certificate that has expired is served all the same, and told once: who renews it may need the reports meanwhile.
        """
        self._take_in()
        self.warn_when_expired()

    def expiry(self) -> str | None:
        """Say that the certificate has expired, and when; None when it hasn't, or that can't be told."""
        end = not_after(self._material.certificate)
        if end is None or end.timestamp() > self._unix_seconds():
            return None
        setting, path = self._paths[0]
        return f"{setting}={path} expired at {end:%Y-%m-%dT%H:%M:%SZ}: every router refuses it; renew it, or set this machine's clock right"

    def warn_when_expired(self) -> None:
        """Say once of a certificate that it has expired."""
        if self._expired != self._material.certificate and (expiry := self.expiry()) is not None:
            self._expired = self._material.certificate
            _logger.warning("%s", expiry)

    def _take_in(self) -> None:
        try:
            material = self._read()
            if material != self._material:
                self._check(material)
        except CredentialFileError as error:
            # One look may fall between the writing of two files; what two find is so.
            if self._suspected == str(error) != self._told:
                self._told = self._suspected
                _logger.warning("%s; new connections still get the certificate read before", error)
            self._suspected = str(error)
            return
        self._suspected = None
        if material != self._material:
            if self._read() != material:
                return  # what was checked may be something else: the next look sees it whole
            self._material = material
            self._fresh.append(_configuration(material))
            _logger.info("the certificate files have changed: new connections get the new ones")
        else:
            if self._told is not None:
                _logger.info("the certificate files are as they were before")
            if material.client_ca is not None:
                # A TLS session that is resumed looks at no certificate again, so one that has expired would get in for days.
                # gRPC can't switch that off; with a configuration anew it forgets the sessions.
                self._fresh.append(_configuration(material))
        self._told = None

    def _read(self) -> Material:
        certificate, key, client_ca = (
            None if path is None else _content(setting, path) for setting, path in self._paths
        )
        assert certificate is not None
        assert key is not None
        return Material(certificate, key, client_ca)

    def _check(self, material: Material) -> None:
        """Refuse what no handshake could succeed with.

        Raises:
            CredentialFileError: The key isn't the certificate's, or a file holds none.
        """
        (cert_setting, cert), (key_setting, key), (ca_setting, client_ca) = self._paths
        assert cert is not None
        assert key is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if material.client_ca is not None and client_ca is not None:
            try:
                context.load_verify_locations(cadata=material.client_ca.decode("ascii"))
            except (ssl.SSLError, UnicodeDecodeError):
                raise CredentialFileError(ca_setting, client_ca, "it holds no PEM certificate") from None
        try:
            context.load_cert_chain(cert, key, password=_no_password)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                why = f"its key isn't the one of the certificate in {cert}"
                raise CredentialFileError(key_setting, key, why) from None
            setting, path = (
                (key_setting, key) if b"-----BEGIN CERTIFICATE" in material.certificate else (cert_setting, cert)
            )
            why = f"no PEM certificate chain and unencrypted PEM key were found ({error.reason or 'unreadable'})"
            raise CredentialFileError(setting, path, why) from None
        except OSError as error:
            raise CredentialFileError(cert_setting, cert, f"{error.strerror}") from None


def certificate_cache(config: ReporterConfig) -> CertificateCache | None:
    """Return the certificates that the settings name, or None for plaintext.

    Raises:
        CredentialFileError: A file can't be used.
    """
    if config.tls_cert_file is None or config.tls_key_file is None:
        return None
    return CertificateCache(config.tls_cert_file, config.tls_key_file, config.tls_client_ca_file)


def _content(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialFileError(setting, path, f"{error.strerror}") from None


def _configuration(material: Material) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(material.key, material.certificate)], root_certificates=material.client_ca
    )


def _no_password() -> str:
    """Answer for an encrypted key, which OpenSSL would otherwise ask for on the terminal."""
    return ""

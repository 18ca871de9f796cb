"""Which registry a command talks to, and how the two know each other."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import grpc
import grpc.aio
from cyclopts import Parameter

from p2p_registry._files import check_ca
from p2p_registry.errors import CredentialFileError, SettingError
from p2p_registry.server import CHANNEL_OPTIONS
from p2p_registry.serving import is_loopback, split_address

_Unset = Parameter(show_default=False)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryFlags:
    """Which registry.

    Args:
        registry: Its address as HOST:PORT. By default what MODEL_EXPRESS_URL or MX_SERVER_ADDRESS say, else localhost:8001.
        tls_ca_file: PEM file of the CAs that sign the registry's certificate; switches TLS on.
        tls_cert_file: PEM file of a certificate of this command's own, for a registry that asks for one.
        tls_key_file: PEM file of its key, not encrypted.
        tls_server_name: Name in the registry's certificate, where it isn't the host that is dialled.
        token_file: File that holds a bearer token to send, read at each call; only with TLS, or to this machine.
    """

    registry: Annotated[str | None, _Unset] = None
    tls_ca_file: Annotated[Path | None, _Unset] = None
    tls_cert_file: Annotated[Path | None, _Unset] = None
    tls_key_file: Annotated[Path | None, _Unset] = None
    tls_server_name: Annotated[str | None, _Unset] = None
    token_file: Annotated[Path | None, _Unset] = None

    def address(self) -> str:
        """Return where to dial.

        Raises:
            SettingError: It isn't HOST:PORT, or asks for TLS without its CAs.
        """
        if self.registry is not None:
            split_address("registry", self.registry)
            return self.registry
        return registry_address(os.environ, tls=self.tls_ca_file is not None)

    def open_channel(self) -> grpc.aio.Channel:
        """Return a channel to the registry, which dials when it is used.

        Raises:
            CredentialFileError: A file can't be read, or holds something else.
            SettingError: A flag needs another.
        """
        address = self.address()
        for name, needed in (
            ("tls_cert_file", "tls_ca_file"),
            ("tls_cert_file", "tls_key_file"),
            ("tls_key_file", "tls_cert_file"),
            ("tls_server_name", "tls_ca_file"),
        ):
            if getattr(self, name) is not None and getattr(self, needed) is None:
                raise SettingError(name, getattr(self, name), f"needs {needed}: give both")
        interceptors: list[grpc.aio.ClientInterceptor] = []
        if self.token_file is not None:
            if self.tls_ca_file is None and not is_loopback(address):
                rule = f"would send its token in plaintext to {address}: give tls_ca_file too"
                raise SettingError("token_file", self.token_file, rule)
            _read_token(self.token_file)
            interceptors.append(_Token(self.token_file))
        options: list[tuple[str, Any]] = list(CHANNEL_OPTIONS)
        if self.tls_ca_file is None:
            return grpc.aio.insecure_channel(address, options, interceptors=interceptors)
        if self.tls_server_name is not None:
            options.append(("grpc.ssl_target_name_override", self.tls_server_name))
        authorities = _read("tls_ca_file", self.tls_ca_file)
        check_ca("tls_ca_file", self.tls_ca_file, authorities)
        credentials = grpc.ssl_channel_credentials(
            authorities,
            None if self.tls_key_file is None else _read("tls_key_file", self.tls_key_file),
            None if self.tls_cert_file is None else _read("tls_cert_file", self.tls_cert_file),
        )
        return grpc.aio.secure_channel(address, credentials, options, interceptors=interceptors)


NO_FLAGS = RegistryFlags()


def registry_address(environ: Mapping[str, str], *, tls: bool) -> str:
    """Return where modelexpress' clients would look for the registry.

    Args:
        environ: The variables.
        tls: Whether it is dialled by TLS.

    Raises:
        SettingError: A variable holds no address, or one of https, which isn't dialled in plaintext.
    """
    for name in ("MODEL_EXPRESS_URL", "MX_SERVER_ADDRESS"):
        if value := environ.get(name, ""):
            address = value.partition("://")[2] if "://" in value else value
            if value.startswith("https://") and not tls:
                raise SettingError(name, value, "needs tls_ca_file: give it, or http:// for plaintext")
            split_address(name, address.rstrip("/"))
            return address.rstrip("/")
    return "localhost:8001"


class _Token(grpc.aio.UnaryUnaryClientInterceptor):
    """Sends the token that the file holds at the moment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def intercept_unary_unary(
        self, continuation: Callable[[Any, Any], Any], client_call_details: Any, request: Any
    ) -> Any:
        token = _read_token(self._path)
        metadata = client_call_details.metadata or grpc.aio.Metadata()
        metadata.add("authorization", f"Bearer {token}")
        return await continuation(client_call_details._replace(metadata=metadata), request)


def _read_token(path: Path) -> str:
    token = _read("token_file", path).decode("ascii", "replace").strip()
    if not token.isprintable() or not token.isascii() or not token or " " in token:
        raise CredentialFileError("token_file", path, "one token of printable ASCII letters is needed")
    return token


def _read(setting: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialFileError(setting, path, f"{error.strerror}") from None

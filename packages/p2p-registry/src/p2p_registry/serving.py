"""The registry as a server of its own: its address, its certificates and tokens, its health, and its end."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Coroutine
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import grpc.aio

from p2p_registry._admission import Admission, RateLimit
from p2p_registry._files import CertificateFiles, Refreshable, TokenFile, refresh_forever
from p2p_registry._health import Health
from p2p_registry.errors import AlreadyStartedError, BindError, SettingError
from p2p_registry.interfaces import Backend, CallObserver
from p2p_registry.server import CHANNEL_OPTIONS, add_registry_service, reap_forever
from p2p_registry.service import RegistryService

__all__ = ["GRACE_SECONDS", "RegistryServer", "ServerConfig"]

GRACE_SECONDS: Final = 5.0
"""How long calls under way may take to end when the server stops."""
_LARGEST_MESSAGE: Final = 2**31 - 1

_log = logging.getLogger(__name__)
_ADVICE = {
    errno.EADDRINUSE: "another process listens there; stop it, or choose another port",
    errno.EACCES: "this user may not; choose a port above 1023",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address; use 127.0.0.1, 0.0.0.0 or one of its own",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Settings of a server.

    Attributes:
        listen: Address as HOST:PORT, an IPv6 host in brackets; port 0 takes any free one. The default reaches this machine only.
        refuse_invalid_load: Answer `success=false` to a load that isn't from 0 to 1; see `RegistryService`.
        tls_cert_file: PEM file of the certificate that clients see, with its intermediates; with `tls_key_file` it switches TLS on.
            These files, and the tokens', are looked at once a second: a change counts for new connections and calls.
        tls_key_file: PEM file of its key, not encrypted.
        tls_client_ca_file: PEM file of the CAs that sign clients' certificates; with it, only who has one can connect.
        auth_token_file: File of bearer tokens, one a line; each call but those for health must come with one.
        max_message_bytes: Largest request that is taken; from 1 to 2**31 - 1, gRPC's own limit. The default is what modelexpress' clients send at the most.
        max_requests_per_second: Most calls from one address, as a mean over a second; at least 1, or None for no limit.

    Raises:
        SettingError: A value is out of range, or contradicts another.
    """

    listen: str = "127.0.0.1:8001"
    refuse_invalid_load: bool = False
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    auth_token_file: Path | None = None
    max_message_bytes: int = 100 * 2**20
    max_requests_per_second: int | None = None

    def __post_init__(self) -> None:
        split_address("listen", self.listen)
        if not 1 <= self.max_message_bytes <= _LARGEST_MESSAGE:
            rule = f"is not allowed: an integer from 1 to {_LARGEST_MESSAGE} is"
            raise SettingError("max_message_bytes", self.max_message_bytes, rule)
        if self.max_requests_per_second is not None and self.max_requests_per_second < 1:
            rule = "is not allowed: an integer of at least 1 is"
            raise SettingError("max_requests_per_second", self.max_requests_per_second, rule)
        for name, needed in (
            ("tls_cert_file", "tls_key_file"),
            ("tls_key_file", "tls_cert_file"),
            ("tls_client_ca_file", "tls_cert_file"),
        ):
            if getattr(self, name) is not None and getattr(self, needed) is None:
                raise SettingError(name, getattr(self, name), f"needs {needed}: give both")
        if self.auth_token_file is not None and self.tls_cert_file is None and not is_loopback(self.listen):
            rule = f"would have tokens sent in plaintext to {self.listen}: give tls_cert_file and tls_key_file too"
            raise SettingError("auth_token_file", self.auth_token_file, rule)


class RegistryServer:
    """A registry that listens while its block lasts; for one block.

    A store that doesn't answer is no reason not to start: the health says so, and calls are answered as modelexpress' clients
    expect. The backend stays the caller's. On a free port of this machine::

        async with RegistryServer(MemoryBackend(), ServerConfig(listen="127.0.0.1:0")) as server:
            print(server.address)

    Attributes:
        address: Where it listens, once started.
        health: What probes are told; its `fault` is None while requests can be served, else why not.
    """

    def __init__(
        self, backend: Backend, config: ServerConfig | None = None, *, observer: CallObserver | None = None
    ) -> None:
        """Serve `backend` as `config` says, and tell `observer` of each call."""
        self._config = ServerConfig() if config is None else config
        self._observer = observer
        self._started = False
        self._tasks: list[asyncio.Task[None]] = []
        self.address: str = ""
        self.health: Health = Health(backend)
        self._service = RegistryService(
            backend, refuse_invalid_load=self._config.refuse_invalid_load, store_failed=self.health.doubt
        )

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            AlreadyStartedError: It was started before.
            BindError: The address can't be listened on.
            CredentialFileError: A certificate, key or token file can't be used.
        """
        if self._started:
            raise AlreadyStartedError("the registry's server")
        self._started = True
        config = self._config
        certificates, tokens = await asyncio.to_thread(_open_files, config)
        await check_bindable("listen", config.listen)
        if certificates is None and not is_loopback(config.listen):
            _log.warning(
                "the registry is served in plaintext on %s: whoever reaches it can list, publish and overwrite sources; "
                "give tls_cert_file and tls_key_file, or listen on 127.0.0.1",
                config.listen,
            )
        limit = None if config.max_requests_per_second is None else RateLimit(config.max_requests_per_second)
        limits = {"grpc.max_receive_message_length": config.max_message_bytes, "grpc.so_reuseport": 0}
        self._grpc = grpc.aio.server(options=tuple({**dict(CHANNEL_OPTIONS), **limits}.items()))
        add_registry_service(self._service, self._grpc, admission=Admission(tokens, limit), observer=self._observer)
        self.health.add_to(self._grpc)
        host, _ = split_address("listen", config.listen)
        try:
            if certificates is None:
                port = self._grpc.add_insecure_port(config.listen)
            else:
                port = self._grpc.add_secure_port(config.listen, certificates.credentials())
        except RuntimeError as error:
            await self._grpc.stop(None)
            raise BindError(f"can't listen on {config.listen}: {error}") from None
        self.address = f"{host}:{port}"
        await self.health.look()
        await self._grpc.start()
        self._run("registry-reaper", reap_forever(self._service))
        self._run("registry-health", self.health.look_forever())
        self._files: list[Refreshable] = [each for each in (certificates, tokens) if each is not None]
        if self._files:
            self._run("registry-files", refresh_forever(self._files))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take no more calls, let those under way end, and release the port."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.health.shut_down()
        await self._grpc.stop(GRACE_SECONDS)

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_tell_end)
        self._tasks.append(task)


def split_address(setting: str, address: str) -> tuple[str, int]:
    """Return host, in brackets where it has them, and port.

    Raises:
        SettingError: It isn't HOST:PORT.
    """
    host, _, port = address.rpartition(":")
    well = host.startswith("[") == host.endswith("]") == (":" in host)
    if not host.strip() or not well or not port.isdecimal() or int(port) > 65_535:
        rule = "is not HOST:PORT, such as 127.0.0.1:8001, 0.0.0.0:8001 for every interface, or [::1]:8001"
        raise SettingError(setting, address, rule)
    return host, int(port)


def is_loopback(address: str) -> bool:
    """Tell whether HOST:PORT reaches this machine only; a name other than localhost is taken to reach further."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


async def check_bindable(setting: str, address: str) -> None:
    """Bind and release an address, because gRPC's refusal doesn't say why.

    Raises:
        BindError: It can't be bound; says why, and what to do.
    """
    host, port = split_address(setting, address)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:  # the second for what is no host's name
        raise BindError(f"can't listen on {address}: the host has no address ({error})") from None
    for family, kind, protocol, _, name in found:
        with socket.socket(family, kind, protocol) as probe:
            # As gRPC does, so that connections in TIME_WAIT don't count as a taken port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(name)
            except OSError as error:
                why = _ADVICE.get(error.errno or 0, os.strerror(error.errno or 0))
                raise BindError(f"can't listen on {address}: {why}") from None


def _open_files(config: ServerConfig) -> tuple[CertificateFiles | None, TokenFile | None]:
    certificates = None
    if config.tls_cert_file is not None and config.tls_key_file is not None:
        certificates = CertificateFiles(config.tls_cert_file, config.tls_key_file, config.tls_client_ca_file)
    return certificates, None if config.auth_token_file is None else TokenFile(config.auth_token_file)


def _tell_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.critical("%s has ended, and nothing does its work: restart", task.get_name(), exc_info=task.exception())

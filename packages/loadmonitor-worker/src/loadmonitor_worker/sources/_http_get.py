"""One GET at a time, bounded in time and size, that leaves its host under no circumstances."""

import asyncio
import os
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from loadmonitor_worker._redaction import without_password
from loadmonitor_worker.errors import ConfigError, MissingExtraError, SourceUnavailableError
from loadmonitor_worker.sources._http_answer import HttpReason

if TYPE_CHECKING:
    import httpx

_MOST_REDIRECTS: Final = 3
_KEEP_ALIVE_SECONDS: Final = 2.0
"""Below the 5 s after which SGLang closes an idle connection, so that a request never crosses its closing."""
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The last answer of a GET: status, headers with names in lower case, and the body of a status 200."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def httpx_module(feature: str, extra: str) -> ModuleType:
    """Return httpx, on behalf of `feature`, which the package's `extra` serves.

    Raises:
        MissingExtraError: httpx isn't installed.
    """
    try:
        module = import_module("httpx")
        # What httpx itself puts off to the first request, which would hold an engine's event loop up when the first router comes.
        for needed in ("httpcore", "anyio.streams.tls"):
            import_module(needed)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
    return module


def checked_url(url: str, module: ModuleType) -> str:
    """Return a server's address without a trailing slash.

    Raises:
        ConfigError: It isn't http(s)://HOST[:PORT][/PATH]. A user and a password are not repeated in the message.
    """
    allowed = "http://HOST:PORT or https://HOST:PORT, with a path if the engine is behind one, is"
    try:
        parsed: httpx.URL = module.URL(url)
    except (module.InvalidURL, TypeError):
        raise ConfigError(f"engine_url={without_password(str(url))!r} is not allowed: {allowed}") from None
    if parsed.userinfo:
        raise ConfigError("engine_url with a user or password is not allowed: give an API key instead")
    if (
        parsed.scheme not in _PORTS
        or not parsed.host
        or not 1 <= _port(parsed) <= 65_535
        or parsed.query
        or parsed.fragment
    ):
        raise ConfigError(f"engine_url={url!r} is not allowed: {allowed}")
    return str(parsed).rstrip("/")


def authorization(api_key: str | None) -> dict[str, str]:
    """Return the header that carries an engine's key as a bearer token; none for None or "".

    Raises:
        ConfigError: A header can't carry it. The key is not repeated in the message.
    """
    if api_key and not all("!" <= character <= "~" for character in api_key):
        raise ConfigError(
            "api_key holds a character that a header can't carry: letters, digits and ASCII signs are allowed"
        )
    return {"authorization": f"Bearer {api_key}"} if api_key else {}


class HttpGet:
    """Asks one address again and again, over a connection that is kept between askings.

    Proxies, credentials and certificates that the environment names for httpx are not used: a proxy for the internet must
    not see an engine's key, nor stand between two processes of one machine. Certificates are checked against the system's
    store, which SSL_CERT_FILE replaces as it does for every program that uses OpenSSL.

    It may be used in several event loops in turn; each makes a client of its own.

    Args:
        url: What to ask.
        headers: Sent along.
        module: httpx.
        timeout_ms: For the whole of it: connecting, redirects, and the last byte of the body.
        max_body_bytes: Longest body that is received.

    Raises:
        ConfigError: A limit is below 1.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], module: ModuleType, *, timeout_ms: int, max_body_bytes: int
    ) -> None:
        for name, value in (("timeout_ms", timeout_ms), ("max_body_bytes", max_body_bytes)):
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name}={value!r} is not allowed: an integer of at least 1 is")
        self.url = url
        self._headers = {"accept": "application/json", "accept-encoding": "identity", **headers}
        self._httpx = module
        self._timeout_ms = timeout_ms
        self._max_body_bytes = max_body_bytes
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def get(self) -> HttpAnswer:
        """Ask, and return the last answer.

        Raises:
            SourceUnavailableError: There is none; `reason` is a word of HttpReason.
        """
        client = self._client_of_this_loop()
        try:
            async with asyncio.timeout(self._timeout_ms / 1_000), _Handshake() as handshake:
                return await self._follow(client, {"trace": handshake.trace} if self.url.startswith("https:") else {})
        except TimeoutError:
            raise SourceUnavailableError(
                HttpReason.TIMEOUT, f"{self.url} gave no complete answer within {self._timeout_ms} ms"
            ) from None
        except self._httpx.RemoteProtocolError as error:
            raise SourceUnavailableError(
                HttpReason.NOT_HTTP,
                f"{self.url} broke its answer off, or doesn't speak HTTP/1.1: {str(error)[:120]}",
            ) from error
        except (self._httpx.TransportError, OSError) as error:
            raise SourceUnavailableError(
                HttpReason.UNREACHABLE,
                f"{self.url} can't be reached: {_cause(error)}: start the engine, or correct the address",
            ) from error

    async def aclose(self) -> None:
        """Close the connection if it belongs to the running event loop; the next `get` opens another. May be repeated."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _follow(self, client: "httpx.AsyncClient", extensions: dict[str, object]) -> HttpAnswer:
        first = url = self._httpx.URL(self.url)
        for _ in range(1 + _MOST_REDIRECTS):
            async with client.stream("GET", url, headers=self._headers, extensions=extensions) as response:
                if response.next_request is None:
                    return HttpAnswer(response.status_code, dict(response.headers), await self._body(response))
                url = response.next_request.url
            if _origin(url) != _origin(first):
                raise SourceUnavailableError(
                    HttpReason.REDIRECTED_OFF_HOST,
                    f"{self.url} redirects to {url.scheme}://{url.host[:80]}:{_port(url)}, which is not followed: if the engine "
                    "is there, give that address",
                )
        raise SourceUnavailableError(
            HttpReason.TOO_MANY_REDIRECTS,
            f"{self.url} was redirected more than {_MOST_REDIRECTS} times: correct the address",
        )

    async def _body(self, response: "httpx.Response") -> bytes:
        body = bytearray()
        if response.status_code == 200:
            # As it comes: unpacking would let a few bytes become many.
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self._max_body_bytes:
                    raise SourceUnavailableError(
                        HttpReason.TOO_LARGE, f"{self.url} answers with more than {self._max_body_bytes} bytes"
                    )
        return bytes(body)

    def _client_of_this_loop(self) -> "httpx.AsyncClient":
        loop = asyncio.get_running_loop()
        client = self._client
        if client is None or self._loop is not loop:
            self._loop = loop
            client = self._client = self._httpx.AsyncClient(
                trust_env=False,
                timeout=None,
                headers={"user-agent": "loadmonitor-worker"},
                limits=self._httpx.Limits(max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE_SECONDS),
                verify=_tls(self.url),
            )
        return client


class _Handshake(AsyncExitStack):
    """Closes the socket of a TLS handshake that was cancelled, which httpcore 1.0.9 leaves open while the event loop lives."""

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow httpcore through one request."""
        if event == "connection.connect_tcp.complete":
            self.push_async_callback(info["return_value"].aclose)
        elif event == "connection.start_tls.complete":
            self.pop_all()


def _tls(url: str) -> ssl.SSLContext:
    # Reading the store of certificates takes longer than a hundred answers; without TLS it is left out.
    return ssl.create_default_context() if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _origin(url: "httpx.URL") -> tuple[str, str, int, bytes]:
    # With a user in it, httpx would send that instead of the key.
    return url.scheme, url.host, _port(url), url.userinfo


def _port(url: "httpx.URL") -> int:
    return url.port if url.port is not None else _PORTS.get(url.scheme, 0)


def _cause(error: BaseException) -> str:
    """Return the operating system's words where there are some, which httpx keeps to the causes of its errors."""
    causes = [error]
    for cause in causes:
        causes += cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
        causes += filter(None, [cause.__cause__ or cause.__context__])
    words = [_words(cause, cause.errno) for cause in causes if isinstance(cause, OSError) and cause.errno]
    return words[-1] if words else str(error) or type(error).__name__


def _words(error: OSError, number: int) -> str:
    # TLS has numbers of its own, names have negative ones, and asyncio's text of a failed connection says no reason.
    return str(error.strerror) if isinstance(error, ssl.SSLError) or number < 0 else os.strerror(number)

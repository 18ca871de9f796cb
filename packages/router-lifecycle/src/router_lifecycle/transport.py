"""Requests over httpx."""

import httpx

from router_lifecycle._keys import check_key
from router_lifecycle.errors import InvalidRouterURLError, TransportError
from router_lifecycle.exchange import Answer, Request
from router_lifecycle.router_url import normalize_router_url

# Nothing has left this machine, or no connection was made, when these are raised.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)
_CONNECT_SHARE = 0.5


class HttpxTransport:
    """A `Transport` over httpx: no proxy from the environment unless asked for, no redirect, no retry.

    A proxy from the environment is a trap between machines of one cluster: the request reaches the router, and the router's own
    health probe of the worker then goes through the proxy and fails.
    """

    def __init__(
        self,
        router_url: str,
        *,
        api_key: str | None = None,
        trust_env: bool = False,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            router_url: URL of the router.
            api_key: The router's key; None or "" sends no Authorization header.
            trust_env: Whether proxies and certificates named in the environment are used; only for a client made here.
            client: Sends the requests and is closed with this, or None to make one. Its `base_url` isn't used.

        Raises:
            InvalidRouterURLError: It is no URL of a router.
            ValueError: `api_key` can't be a header's.
        """
        self._base = normalize_router_url(router_url)
        try:
            # Whatever httpx can't make sense of comes up here, not in the middle of an operation.
            _ = httpx.URL(self._base).host
        except (httpx.InvalidURL, UnicodeError) as error:
            raise InvalidRouterURLError(router_url) from error
        check_key(api_key or "")
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client if client is not None else httpx.AsyncClient(trust_env=trust_env)

    async def send(self, request: Request, *, timeout_seconds: float) -> Answer:
        """Send the request once.

        Half of the time is for connecting: a connection that isn't made in it is a request that certainly wasn't sent.

        Raises:
            TransportError: There is no answer.
        """
        timeout = httpx.Timeout(timeout_seconds, connect=timeout_seconds * _CONNECT_SHARE)
        try:
            response = await self._client.request(
                request.method,
                self._base + request.path,
                json=None if request.body is None else dict(request.body),
                headers=self._headers,
                timeout=timeout,
                follow_redirects=False,
            )
        except _NOT_SENT as error:
            raise TransportError(_reason(error), maybe_sent=False) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TransportError(_reason(error), maybe_sent=True) from error
        return Answer(
            response.status_code, response.text, {key.lower(): value for key, value in response.headers.items()}
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

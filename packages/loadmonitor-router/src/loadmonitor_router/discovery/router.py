"""Workers that a router knows."""

from http import HTTPStatus

import httpx

from loadmonitor_router._redaction import without_password
from loadmonitor_router.discovery._poll import PollingDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT, check_port
from loadmonitor_router.discovery.worker_list import parse_worker_list
from loadmonitor_router.errors import ConfigError, DiscoveryError, WorkerListError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.snapshot import WorkerTarget


class RouterDiscovery(PollingDiscovery):
    """A Discovery that asks an SGLang Router (0.2, 0.3) or an SMG for its workers.

    `GET /workers` is asked, and `GET /list_workers` where that isn't found. The reporter of a worker listens on the worker's
    host: at the port that its label `loadmonitor_port` tells, else at `reporter_port`.
    """

    def __init__(
        self,
        url: str,
        *,
        reporter_port: int = DEFAULT_REPORTER_PORT,
        api_key: str | None = None,
        interval_seconds: float = 2.0,
        timeout_seconds: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        """Name the router.

        Args:
            url: Where it serves, such as `http://router:30000`.
            reporter_port: Where the reporters listen, but for workers whose label says otherwise.
            api_key: The router's key, or None.
            interval_seconds: Time between two questions; above 0.
            timeout_seconds: How long an answer may take; above 0.
            clock: Time; the machine's unless given.

        Raises:
            ConfigError: A setting isn't allowed.
        """
        super().__init__(interval_seconds=interval_seconds, clock=clock)
        if not url.startswith(("http://", "https://")):
            raise ConfigError(
                f"router URL {without_password(url)!r} is not allowed: one with http:// or https:// and a host is"
            )
        if not timeout_seconds > 0:
            raise ConfigError(f"timeout_seconds={timeout_seconds!r} is not allowed: a number of seconds above 0 is")
        check_port("reporter_port", reporter_port)
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        try:
            self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout_seconds)
        except httpx.InvalidURL as error:
            raise ConfigError(f"router URL {without_password(url)!r} is not allowed: {error}") from None
        self._url = without_password(url)
        self._reporter_port = reporter_port

    async def aclose(self) -> None:
        """End the iteration, also one that is waiting, and let go of the connection."""
        await super().aclose()
        await self._client.aclose()

    async def _look(self) -> tuple[WorkerTarget, ...]:
        response = await self._get("workers")
        if response.status_code == HTTPStatus.NOT_FOUND:
            response = await self._get("list_workers")
        where = without_password(str(response.url))
        if response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise DiscoveryError(f"{where} answered {response.status_code}: give the router's API key")
        if response.status_code != HTTPStatus.OK:
            raise DiscoveryError(
                f"{where} answered {response.status_code}: an SGLang Router or SMG with a worker list is expected"
            )
        try:
            return parse_worker_list(response.content, self._reporter_port)
        except (ConfigError, WorkerListError) as error:
            raise WorkerListError(f"{where}: {error}") from error

    async def _get(self, path: str) -> httpx.Response:
        try:
            return await self._client.get(path)
        except httpx.HTTPError as error:
            raise DiscoveryError(f"{self._url} can't be asked: {str(error) or type(error).__name__}") from error

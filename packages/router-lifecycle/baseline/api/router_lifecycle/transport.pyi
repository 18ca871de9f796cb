import httpx
from router_lifecycle._keys import check_key as check_key
from router_lifecycle.errors import InvalidRouterURLError as InvalidRouterURLError, TransportError as TransportError
from router_lifecycle.exchange import Answer as Answer, Request as Request
from router_lifecycle.router_url import normalize_router_url as normalize_router_url

class HttpxTransport:
    def __init__(self, router_url: str, *, api_key: str | None = None, trust_env: bool = False, client: httpx.AsyncClient | None = None) -> None: ...
    async def send(self, request: Request, *, timeout_seconds: float) -> Answer: ...
    async def aclose(self) -> None: ...

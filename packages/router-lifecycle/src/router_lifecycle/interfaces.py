"""The Protocols that router_lifecycle consumes."""

from typing import Protocol

from router_lifecycle.exchange import Answer, Request


class Transport(Protocol):
    """Carries requests to one router: `HttpxTransport`, or anything else that keeps to this."""

    async def send(self, request: Request, *, timeout_seconds: float) -> Answer:
        """Send the request once and return the answer, whatever its status; follow no redirect and repeat nothing.

        Args:
            request: What to ask.
            timeout_seconds: Bound of the whole exchange, from connecting to the last byte, above 0.

        Raises:
            TransportError: There is no answer; its `maybe_sent` says whether the router can have got the request.
        """

    async def aclose(self) -> None:
        """Release the connections; nothing is sent afterwards."""

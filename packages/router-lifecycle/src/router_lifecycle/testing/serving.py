"""The fake router on a real socket; needs the extra `testing`, which brings uvicorn."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from router_lifecycle.testing.router import FakeRouter


@asynccontextmanager
async def serve(router: FakeRouter) -> AsyncIterator[str]:
    """Serve the router on a free port of 127.0.0.1 and yield its base URL, `http://127.0.0.1:port`.

    Give the router `time.monotonic` as its clock where the client waits in real time. A stopped router, a reset and a lost answer
    break or hold the real connection.
    """

    class Breakable(H11Protocol):
        """Tells the router how to break a connection, which ASGI has no word for."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.peer = transport.get_extra_info("peername")
            router.aborts[self.peer] = transport.abort

        def connection_lost(self, exc: Exception | None) -> None:
            router.aborts.pop(self.peer, None)
            super().connection_lost(exc)

    # asyncio only sends at once (TCP_NODELAY) where a socket says that it is TCP; without, each answer waits 40 ms for an ACK.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            router, http=Breakable, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not server.started:
                if serving.done():
                    serving.result()
                await asyncio.sleep(0.005)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            for abort in list(router.aborts.values()):
                abort()
            await serving

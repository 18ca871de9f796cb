"""A scripted Worker that speaks TLS, and remembers the metadata of the calls it got."""

import asyncio
from collections.abc import AsyncIterator
from typing import Self

import grpc
import grpc.aio
from certificates import Authority, Pair

from loadmonitor_proto import RouterFrame, WorkerFrame
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_router import Connection, ConnectionState
from loadmonitor_router.testing import ScriptedWorker


class SecureWorker(ScriptedWorker):
    """With a pair TLS, with a client CA mutual TLS, without either plaintext."""

    def __init__(self, pair: Pair | None = None, client_ca: Authority | None = None, *, port: int = 0) -> None:
        super().__init__(port=port)
        self._pair = pair
        self._client_ca = client_ca
        self.authorizations: list[tuple[str | bytes, ...]] = []
        """The values of `authorization`, call by call."""

    async def __aenter__(self) -> Self:
        if self._pair is None:
            return await super().__aenter__()
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        add_load_monitor_servicer(self, self._server)
        ca = None if self._client_ca is None else self._client_ca.ca_file.read_bytes()
        credentials = grpc.ssl_server_credentials(
            [(self._pair.key.read_bytes(), self._pair.cert.read_bytes())], ca, require_client_auth=ca is not None
        )
        self._port = self._server.add_secure_port(f"127.0.0.1:{self._port}", credentials)
        self.address = f"127.0.0.1:{self._port}"
        await self._server.start()
        return self

    async def Monitor(  # noqa: N802 - the method's name on the wire
        self,
        request_iterator: AsyncIterator[RouterFrame],
        context: "grpc.aio.ServicerContext[RouterFrame, WorkerFrame | bytes]",
    ) -> None:
        pairs = context.invocation_metadata() or ()
        self.authorizations.append(tuple(value for key, value in pairs if key == "authorization"))
        await super().Monitor(request_iterator, context)


class States(asyncio.Queue[Connection]):
    """The states of a client's connection, as they come."""

    async def until(self, state: ConnectionState) -> Connection:
        """Return the next one of this kind."""
        while (connection := await self.get()).state is not state:
            pass
        return connection

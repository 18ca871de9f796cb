"""`xds.service.orca.v3.OpenRcaService`: each stream is a session of the fire loop that gets its reports as ORCA."""

import asyncio
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from loadmonitor_worker._fire import FireLoop
from loadmonitor_worker._orca import granted_interval_ns
from loadmonitor_worker._session import OrcaSession
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ServingModeError
from loadmonitor_worker.interfaces import Clock

ORCA: Final = "xds.service.orca.v3.OpenRcaService"


class OrcaServicer:
    """Serves `StreamCoreMetrics`, on any number of servers of the reporter's event loop.

    Whatever happens, a call isn't answered UNIMPLEMENTED: a client would never ask again on its connection.
    """

    def __init__(self, config: ReporterConfig, table: SessionTable, fire_loop: FireLoop, clock: Clock) -> None:
        self._config = config
        self._table = table
        self._fire_loop = fire_loop
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._closing = False

    def add_to(self, server: grpc.aio.Server) -> None:
        """Register the service on `server`, before the server starts.

        Raises:
            ServingModeError: Called on another event loop than the reporter's.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise ServingModeError(
                "the ORCA service was to be added on another event loop than the reporter's: add it to a server of the loop "
                "that called start_load_reporter"
            )
        # Messages pass as bytes: a request that can't be read is answered in words here.
        handlers: dict[str, Any] = {"StreamCoreMetrics": grpc.unary_stream_rpc_method_handler(self.stream_core_metrics)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(ORCA, handlers),))

    def shut_down(self) -> None:
        """End every stream with UNAVAILABLE, and answer new ones so."""
        self._closing = True
        for session in self._table.orca:
            session.end(None)

    async def stream_core_metrics(self, request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> None:
        """Report now, at each multiple of the granted interval, and when the engine's state changes."""
        try:
            interval_ns = granted_interval_ns(request, least_ms=self._config.orca_min_interval_ms)
        except DecodeError as exc:
            message = f"the request is not an OrcaLoadReportRequest: {exc}"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, message)
        most = self._config.max_sessions
        if len(self._table.orca) >= most:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{most} ORCA streams are open, as many as may")
        ready = asyncio.Event()
        session = OrcaSession(on_ready=ready.set, peer=context.peer())
        now_ns = self._clock.monotonic_ns()
        session.subscribe(
            interval_ns=interval_ns,
            anchor_ns=now_ns if self._config.alignment == "registration" else 0,
            now_ns=now_ns,
        )
        self._table.orca.add(session)
        self._fire_loop.changed()
        try:
            while not (self._closing or session.ended):
                await ready.wait()
                ready.clear()
                report = session.take()
                if report is not None:
                    await context.write(report)
        except grpc.aio.BaseError:
            return  # the client is gone
        finally:
            self._table.orca.discard(session)
            self._fire_loop.changed()
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the load reporter of this worker is closed")

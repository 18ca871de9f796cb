"""Owns what a running reporter consists of: the gRPC server, the fire loop's task, and their end."""

import asyncio
from uuid import uuid4

import grpc.aio

from loadmonitor_proto.channel import server_options
from loadmonitor_proto.forking import cut_off_reason
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_worker._fire import FireLoop, ReporterCounters
from loadmonitor_worker._listen import check_bindable, format_address
from loadmonitor_worker._protocol import Monitor
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._report import ReportBuilder
from loadmonitor_worker._service import MonitorServicer
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import BindError, ForkedProcessError
from loadmonitor_worker.interfaces import Clock, LoadSnapshotSource

GOODBYE_SECONDS = 1.0
"""How long open streams may take to send their last frame, and a read to end: who doesn't is cut off then."""


class ReporterServer:
    """The parts of one reporter, assembled.

    Attributes:
        address: Where it listens, once started.
        source_instance_id: New for every start.
        expected_dp_ranks: The ranks that count instead of the source's, or None.
    """

    def __init__(self, config: ReporterConfig, source: LoadSnapshotSource, clock: Clock) -> None:
        self._config = config
        self._source = source
        self.address: str = ""
        self.source_instance_id: str = uuid4().hex
        self.expected_dp_ranks: frozenset[int] | None = None
        table = SessionTable(config.max_sessions)
        self._puller = Puller(
            source, self._ranks, clock, budget_ms=config.pull_budget_ms, clamp=config.overshoot == "clamp"
        )
        self._fire_loop = FireLoop(
            table,
            self._puller,
            ReportBuilder(config, self.source_instance_id),
            clock,
            stale_after_ms=config.stale_after_ms,
        )
        self._monitor = Monitor(config, self.source_instance_id, table, self._fire_loop.changed)
        self._servicer = MonitorServicer(self._monitor, clock)

    @property
    def counters(self) -> ReporterCounters:
        """What the fire loop has done."""
        return self._fire_loop.counters

    async def start(self) -> None:
        """Listen.

        Raises:
            BindError: The address can't be listened on; nothing was started.
            ForkedProcessError: This process was forked while gRPC was in use; nothing was started.
        """
        forked = cut_off_reason()
        if forked is not None:
            raise ForkedProcessError(f"no load reporter can start: {forked}")
        host, port = self._config.host, self._config.port or 0
        await check_bindable(host, port)
        self._grpc = grpc.aio.server(options=tuple(server_options().items()))
        add_load_monitor_servicer(self._servicer, self._grpc)
        address = format_address(host, port)
        try:
            bound = self._grpc.add_insecure_port(address)
        except RuntimeError as exc:
            await self._grpc.stop(None)
            raise BindError(address, f"gRPC refused the address ({exc})") from exc
        self.address = format_address(host, bound)
        await self._grpc.start()

    async def stop(self) -> None:
        """Say goodbye on every stream, end the fire loop and release the port; the parent's are left alone by a child."""
        if cut_off_reason() is not None:
            return
        self._monitor.shut_down()
        self._fire_loop.end()
        await asyncio.gather(self._grpc.stop(GOODBYE_SECONDS), self._puller.ended(GOODBYE_SECONDS))
        if self._servicer.reading:
            await asyncio.wait(self._servicer.reading, timeout=GOODBYE_SECONDS)
        # While it is referred to, gRPC's thread goes on, and no process forked from this one could use gRPC.
        del self._grpc

    def _ranks(self) -> frozenset[int]:
        return self._source.expected_dp_ranks() if self.expected_dp_ranks is None else self.expected_dp_ranks

"""Owns what a running reporter consists of: the gRPC server, the fire loop's task, and their end."""

import asyncio
import logging
from collections.abc import Sequence
from copy import deepcopy
from uuid import uuid4

import grpc.aio

from loadmonitor_proto.channel import server_options
from loadmonitor_proto.forking import cut_off_reason
from loadmonitor_proto.service import add_load_monitor_servicer
from loadmonitor_worker._admission import configured_authorizers
from loadmonitor_worker._fire import FireLoop, ReporterCounters
from loadmonitor_worker._health import HealthServicer, add_health_servicer
from loadmonitor_worker._idle import IdleWatch
from loadmonitor_worker._journal import SessionJournal
from loadmonitor_worker._listen import check_bindable, format_address
from loadmonitor_worker._meter import Meter
from loadmonitor_worker._orca_service import OrcaServicer
from loadmonitor_worker._protocol import Monitor
from loadmonitor_worker._pull import Puller
from loadmonitor_worker._report import ReportBuilder
from loadmonitor_worker._rotation import Rotation
from loadmonitor_worker._service import MonitorServicer
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker._tls import certificate_cache
from loadmonitor_worker._verdict import Attempt
from loadmonitor_worker.config import ReporterConfig, is_loopback
from loadmonitor_worker.errors import BindError, ForkedProcessError
from loadmonitor_worker.interfaces import Authorizer, Clock, LoadSnapshotSource
from loadmonitor_worker.measurements import Measurements
from loadmonitor_worker.state import IdleOutcome, WorkerState

_logger = logging.getLogger(__name__)

GOODBYE_SECONDS = 1.0
"""How long open streams may take to send their last frame, and a read to end: who doesn't is cut off then."""


class ReporterServer:
    """The parts of one reporter, assembled.

    Attributes:
        address: Where it listens, once started.
        source_instance_id: New for every start.
        expected_dp_ranks: The ranks that count instead of the source's, or None.
    """

    def __init__(
        self,
        config: ReporterConfig,
        source: LoadSnapshotSource,
        clock: Clock,
        authorizers: Sequence[Authorizer] = (),
    ) -> None:
        self._config = config
        self._source = source
        self._clock = clock
        self.address: str = ""
        self.source_instance_id: str = uuid4().hex
        self.expected_dp_ranks: frozenset[int] | None = None
        self._table = SessionTable(config.max_sessions)
        self._journal = SessionJournal()
        self._puller = Puller(
            source, self._ranks, clock, budget_ms=config.pull_budget_ms, clamp=config.overshoot == "clamp"
        )
        self._builder = ReportBuilder(config, self.source_instance_id)
        self._fire_loop = FireLoop(
            self._table,
            self._puller,
            self._builder,
            clock,
            self._journal,
            stale_after_ms=config.stale_after_ms,
        )
        self._monitor = Monitor(config, self.source_instance_id, self._table, self._journal, self._fire_loop.changed)
        self._servicer = MonitorServicer(self._monitor, [*configured_authorizers(config), *authorizers], clock)
        self._rotation: Rotation | None = None
        self._health = HealthServicer()
        self._orca = OrcaServicer(config, self._table, self._fire_loop, clock)
        self._state_first_told_by = 0
        self._waiting: set[asyncio.Future[IdleOutcome]] = set()

    @property
    def counters(self) -> ReporterCounters:
        """What the fire loop has done."""
        return self._fire_loop.counters

    @property
    def worker_state(self) -> WorkerState | None:
        """What reports say of the engine's state."""
        return self._builder.worker_state

    def set_worker_state(self, state: WorkerState) -> None:
        """Tell `state` from now on, to every session at once."""
        if state is self._builder.worker_state:
            return
        _logger.info("the engine's state is %s, was %s", state, self._builder.worker_state or "not told")
        self._builder.worker_state = state
        self._state_first_told_by = self._builder.sequence_id + 1
        self._table.hurry(self._clock.monotonic_ns())
        self._fire_loop.changed()

    async def wait_until_idle(self, timeout_seconds: float) -> IdleOutcome:
        """Wait until every session knows the state and the engine has nothing to do; see `IdleWatch`."""
        if self._monitor.closing:
            return IdleOutcome(idle=False, reason="the reporter is closed")
        watch = IdleWatch()
        outcome: asyncio.Future[IdleOutcome] = asyncio.get_running_loop().create_future()

        def end(*, idle: bool) -> None:
            if not outcome.done():
                outcome.set_result(IdleOutcome(idle=idle, reason=None if idle else watch.reason))

        def follow(attempt: Attempt) -> None:
            untold = self._table.unaware_of(self._state_first_told_by)
            now_ns, now_unix_ms = self._clock.monotonic_ns(), self._clock.unix_ms()
            if watch.observe(attempt, untold, now_ns=now_ns, now_unix_ms=now_unix_ms):
                end(idle=True)

        timer = self._clock.call_at(self._clock.monotonic_ns() + round(timeout_seconds * 1e9), lambda: end(idle=False))
        self._waiting.add(outcome)
        self._fire_loop.follow(follow)
        try:
            return await outcome
        finally:
            self._fire_loop.unfollow(follow)
            self._waiting.discard(outcome)
            timer.cancel()

    def add_orca_service(self, server: grpc.aio.Server) -> None:
        """Serve ORCA on `server`; see `LoadReporter.add_orca_service`."""
        self._orca.add_to(server)

    def measure(self) -> Measurements:
        """Return what was counted, and from now on measure what costs something."""
        if self._fire_loop.meter is None:
            self._fire_loop.meter = self._servicer.meter = Meter()
        meter = self._fire_loop.meter
        counters = self._fire_loop.counters
        return Measurements(
            fires=counters.fires,
            coalesced_reports=counters.coalesced_reports,
            clamped_values=counters.clamped_values,
            sessions=len(self._table),
            unacked_reports=self._table.unacked(),
            orca_streams=len(self._table.orca),
            session_events=dict(self._journal.events),
            refused=dict(self._journal.refused),
            last_status=None if self._fire_loop.last_status is None else self._fire_loop.last_status.value,
            worker_state=self.worker_state,
            reports={status.value: number for status, number in meter.reports.items()},
            sent_bytes=meter.sent_bytes,
            pull_seconds=deepcopy(meter.pull_seconds),
            fire_lag_seconds=deepcopy(meter.fire_lag_seconds),
            snapshot_age_seconds=deepcopy(meter.snapshot_age_seconds),
        )

    async def start(self) -> None:
        """Listen.

        Raises:
            BindError: The address can't be listened on; nothing was started.
            CredentialFileError: A certificate or key file can't be used; nothing was started.
            ForkedProcessError: This process was forked while gRPC was in use; nothing was started.
        """
        forked = cut_off_reason()
        if forked is not None:
            raise ForkedProcessError(f"no load reporter can start: {forked}")
        certificates = await asyncio.to_thread(certificate_cache, self._config)
        host, port = self._config.host, self._config.port or 0
        if certificates is None and not is_loopback(host):
            _logger.warning(
                "load reports are served in plaintext on %s: whoever reaches it can read them; "
                "give tls_cert_file and tls_key_file, or listen on 127.0.0.1 (host)",
                host,
            )
        await check_bindable(host, port)
        self._grpc = grpc.aio.server(options=tuple(server_options().items()))
        add_load_monitor_servicer(self._servicer, self._grpc)
        add_health_servicer(self._health, self._grpc)
        if self._config.orca:
            self.add_orca_service(self._grpc)
        address = format_address(host, port)
        try:
            if certificates is None:
                bound = self._grpc.add_insecure_port(address)
            else:
                bound = self._grpc.add_secure_port(address, certificates.credentials())
        except RuntimeError as exc:
            await self._grpc.stop(None)
            raise BindError(address, f"gRPC refused the address ({exc})") from exc
        self.address = format_address(host, bound)
        await self._grpc.start()
        if certificates is not None:
            certificates.warn_when_expired()
            self._rotation = Rotation(certificates.refresh, self._clock)
            self._rotation.start()

    async def stop(self) -> None:
        """Say goodbye on every stream, end the fire loop and release the port; the parent's are left alone by a child."""
        if cut_off_reason() is not None:
            return
        _logger.info("closing: %d routers are told", len(self._table))
        self._monitor.shut_down()
        self._health.shut_down()
        self._orca.shut_down()
        self._fire_loop.end()
        for outcome in self._waiting:
            if not outcome.done():
                outcome.set_result(IdleOutcome(idle=False, reason="the reporter was closed"))
        ends = [self._grpc.stop(GOODBYE_SECONDS), self._puller.ended(GOODBYE_SECONDS)]
        if self._rotation is not None:
            ends.append(self._rotation.end(GOODBYE_SECONDS))
        await asyncio.gather(*ends)
        if self._servicer.reading:
            await asyncio.wait(self._servicer.reading, timeout=GOODBYE_SECONDS)
        # While it is referred to, gRPC's thread goes on, and no process forked from this one could use gRPC.
        del self._grpc

    def _ranks(self) -> frozenset[int]:
        return self._source.expected_dp_ranks() if self.expected_dp_ranks is None else self.expected_dp_ranks

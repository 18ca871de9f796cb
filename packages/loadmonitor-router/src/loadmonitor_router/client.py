"""The client of one Worker: dials, registers, renews, acknowledges, dials again, and hands over validated reports."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from random import SystemRandom
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from loadmonitor_proto import StreamErrorCode, WorkerFrame
from loadmonitor_proto.channel import KEEPALIVE_TIME, ChannelOptionError, client_options
from loadmonitor_proto.forking import cut_off_reason
from loadmonitor_router._backoff import Backoff
from loadmonitor_router._clock import Signal, SystemClock
from loadmonitor_router._dialogue import LEAVE_NS, Dialogue
from loadmonitor_router._fork import check_not_forked
from loadmonitor_router._ingest import Ingest
from loadmonitor_router._link import Link, NoServiceError, UnheardError
from loadmonitor_router._losses import describe_loss, pings_after
from loadmonitor_router._slot import ReportSlot
from loadmonitor_router._stream import StreamLostError, StreamSession
from loadmonitor_router.config import ClientConfig, normalize_address
from loadmonitor_router.connection import Connection, ConnectionState, Grant, TlsFault
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.errors import ClientStateError, ConfigError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.reports import WorkerReport

_NS_PER_MS = 1_000_000

_logger = logging.getLogger(__name__)
_News = TypeVar("_News", Connection, WorkerReport)


class MonitorClient:
    """Watches one Worker: `async with` dials it, `async for` takes its reports.

        async with MonitorClient("10.0.0.1:50061", router_id="router-a") as client:
            async for report in client:
                ...

    Each report is handed over once and in order. A report counts as processed, and is acknowledged, when it is handed
    over; until then the Worker holds back the next ones, so a consumer that stalls finds at most `max_unacked_reports`
    old reports. Of a Worker that doesn't know acknowledgements it finds the newest report only.

    A lost connection doesn't end the iteration: the client dials again after 0.2 s, then ever later, up to 5 s; when
    another router uses the same id, up to 5 minutes. A peer without a load reporter is asked again every 5 s. What goes
    on meanwhile shows in `connection`.

    A client may be entered again after it was closed, also on another event loop. A process that was forked while gRPC was
    in use can't use any: entering and iterating raise ForkedProcessError there, and closing leaves the parent's stream alone.
    """

    def __init__(
        self,
        address: str,
        *,
        router_id: str,
        report_interval_ms: int = 1_000,
        lease_ttl_ms: int = 15_000,
        max_unacked_reports: int | None = 1,
        connect_timeout_ms: int = 2_000,
        ack_timeout_ms: int = 2_000,
        credentials: Credentials = PLAINTEXT,
        options: Mapping[str, int | str] | None = None,
        on_connection: Callable[[Connection], None] | None = None,
        on_report: Callable[[WorkerReport], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Check the settings; nothing is dialled yet.

        Args:
            address: The Worker's load reporter, `host:port` or `[ipv6]:port`.
            router_id: See ClientConfig, as for the settings down to `ack_timeout_ms`.
            report_interval_ms: Wished time between reports.
            lease_ttl_ms: Wished lease.
            max_unacked_reports: Reports that may be under way at once, or None.
            connect_timeout_ms: Time to get a connection.
            ack_timeout_ms: Time to have the registration acknowledged.
            credentials: The files of TLS and of the bearer token, read at each dialling; by default plaintext, and no token.
            options: gRPC channel options to add or change; see `loadmonitor_proto.channel.client_options`.
            on_connection: Called on the event loop with the connection whenever its state has changed or it has dropped a
                report.
            on_report: Called on the event loop with each report as it is read, which counts as handing it over: then there
                is nothing to iterate, and no report outlives the stream that brought it.
            clock: Time; the machine's when None.

        Raises:
            ConfigError: The address or a setting isn't allowed.
        """
        self.address: str = normalize_address(address)
        self.config: ClientConfig = ClientConfig(
            router_id=router_id,
            report_interval_ms=report_interval_ms,
            lease_ttl_ms=lease_ttl_ms,
            max_unacked_reports=max_unacked_reports,
            connect_timeout_ms=connect_timeout_ms,
            ack_timeout_ms=ack_timeout_ms,
        )
        try:
            self._options = client_options({**(options or {}), **credentials.channel_options()})
        except ChannelOptionError as error:
            raise ConfigError(str(error)) from error
        credentials.check_address(self.address)
        self._credentials = credentials
        self._ping_every_ms = int(self._options[KEEPALIVE_TIME])
        self._on_connection = on_connection
        self._on_report = on_report
        self._clock = SystemClock() if clock is None else clock
        self._ingest = Ingest()
        self._backoff = Backoff(SystemRandom().random)
        self._slot = ReportSlot()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._failure: BaseException | None = None
        self._link: Link | None = None
        self._listen_first = False
        self._state = ConnectionState.CLOSED
        self._since_ns = self._clock.monotonic_ns()
        self._retry_at_ns: int | None = None
        self._last_error: str | None = None
        self._tls_fault: TlsFault | None = None
        self._grant: Grant | None = None
        self._reconnects = 0

    async def __aenter__(self) -> Self:
        check_not_forked(f"the client of {self.address}")
        if self._task is not None:
            raise ClientStateError(f"the client of {self.address} is open already: close it before entering it again")
        self._closing = False
        self._failure = None
        self._available = asyncio.Event()
        self._signal = Signal(self._clock)
        self._task = asyncio.create_task(self._run(), name=f"monitor {self.address}")
        self._task.add_done_callback(self._ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __anext__(self) -> WorkerReport:
        """Wait for the next report.

        Raises:
            StopAsyncIteration: The client was closed.
            StreamRefusedError: The Worker refuses this router for good.
            ClientStateError: The client isn't open, or hands its reports to `on_report`.
            ForkedProcessError: This process was forked while gRPC was in use.
        """
        check_not_forked(f"the client of {self.address}")
        if self._on_report is not None:
            raise ClientStateError(f"the client of {self.address} hands its reports to on_report: don't iterate it too")
        if self._task is None and not self._closing:
            raise ClientStateError(f"the client of {self.address} isn't open: iterate inside `async with`")
        while not self._slot or self._closing:
            if self._closing:
                raise StopAsyncIteration
            if self._failure is not None:
                raise self._failure
            self._available.clear()
            await self._available.wait()
        report, has_to_send = self._slot.take()
        if has_to_send:
            self._signal.set()
        return report

    @property
    def connection(self) -> Connection:
        """The state of the connection now."""
        return Connection(
            state=self._state,
            since_ns=self._since_ns,
            retry_at_ns=self._retry_at_ns,
            last_error=self._last_error,
            grant=self._grant,
            reconnects=self._reconnects,
            received=self._ingest.received,
            dropped=MappingProxyType(dict(self._ingest.dropped)),
            last_drop=self._ingest.last_drop,
            superseded=self._slot.superseded,
            tls_fault=self._tls_fault,
        )

    async def close(self) -> None:
        """Tell the Worker to stop, and hang up; done within a second, and harmless when done before.

        In a process that was forked meanwhile nothing is told: the stream is the parent's.
        """
        task = self._task
        if task is None or cut_off_reason() is not None:
            return
        self._closing = True
        self._signal.set()
        self._available.set()
        bound = self._clock.call_at(self._clock.monotonic_ns() + LEAVE_NS, self._hang_up)
        await asyncio.wait({task})  # a cancelled caller leaves the task, and its bound, to end by themselves
        bound.cancel()
        self._task = None

    def _hang_up(self) -> None:
        if self._link is not None:
            self._link.abort()

    async def _run(self) -> None:
        while not self._closing:
            try:
                await self._stream()
            except StreamLostError as loss:
                unheard = isinstance(loss, UnheardError) and self._state is ConnectionState.CONNECTING
                self._listen_first = unheard and not self._listen_first
                if not self._listen_first:
                    await self._back_off(loss)
            finally:
                self._link = None

    async def _stream(self) -> None:
        """Live through one stream; return when the client is closing."""
        self._change(ConnectionState.CONNECTING)
        options = {**self._options, KEEPALIVE_TIME: self._ping_every_ms}
        async with Link(self.address, tuple(options.items()), self._signal, self._clock, self._credentials) as link:
            self._link = link
            dialogue = Dialogue(link, self._signal, self._clock, lambda: self._closing)
            if not await dialogue.connect(self.address, self._credentials, self.config.connect_timeout_ms):
                return
            session = StreamSession(self.address, self.config, self._ingest)
            link.start_reading(partial(self._take, session))
            if self._listen_first and not await dialogue.hears_nothing():
                return
            await dialogue.speak(session)
            await dialogue.take_leave()

    def _take(self, session: StreamSession, frame: WorkerFrame | None) -> None:
        report = session.receive(frame, self._clock.monotonic_ns())
        if self._state is ConnectionState.CONNECTING:
            self._grant = session.grant
            self._change(ConnectionState.REGISTERED)
            _logger.info("%s registered as %s", self.address, self.config.router_id)
        elif report is None:  # it was dropped
            self._tell_connection()
        elif self._on_report is not None:
            self._tell(self._on_report, report)
            session.processed(report.sequence_id)  # the reading task wakes the one that acknowledges
        else:
            self._slot.keep(session, report)
            self._available.set()

    async def _back_off(self, loss: StreamLostError) -> None:
        now_ns = self._clock.monotonic_ns()
        held_ms = (now_ns - self._since_ns) / _NS_PER_MS if self._state is ConnectionState.REGISTERED else 0.0
        delay_ms = self._backoff.delay_ms(held_ms=held_ms, code=loss.code, no_service=isinstance(loss, NoServiceError))
        self._ping_every_ms = pings_after(loss, self._ping_every_ms)
        replaced = loss.code == StreamErrorCode.SESSION_REPLACED
        if replaced or self._state is ConnectionState.REGISTERED or str(loss) != self._last_error:
            router_id = self.config.router_id
            _logger.warning(describe_loss(loss, address=self.address, router_id=router_id, delay_ms=delay_ms))
        self._last_error, self._tls_fault = str(loss), loss.fault
        self._grant = None
        self._retry_at_ns = retry_at_ns = now_ns + int(delay_ms * _NS_PER_MS)
        self._change(ConnectionState.BACKING_OFF)
        while not self._closing and self._clock.monotonic_ns() < retry_at_ns:
            await self._signal.wait(retry_at_ns)
        self._retry_at_ns = None
        if not self._closing:
            self._reconnects += 1

    def _change(self, state: ConnectionState) -> None:
        self._state = state
        self._since_ns = self._clock.monotonic_ns()
        self._tell_connection()

    def _tell_connection(self) -> None:
        if self._on_connection is not None:
            self._tell(self._on_connection, self.connection)

    def _tell(self, callback: Callable[[_News], None], news: _News) -> None:
        try:
            callback(news)
        except Exception:
            _logger.exception("%s: a callback failed; the client goes on", self.address)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._grant = None
        self._slot.clear()
        self._failure = None if task.cancelled() else task.exception()
        if self._failure is None:
            self._closing = True
            self._change(ConnectionState.CLOSED)
        else:
            self._last_error, self._tls_fault = str(self._failure), None
            _logger.error("%s: %s", self.address, self._last_error)
            self._change(ConnectionState.FAILED)
        self._available.set()

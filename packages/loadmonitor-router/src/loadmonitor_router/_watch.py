"""One Worker of a fleet: its client, and the view of it that every event replaces."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

from loadmonitor_router._view import WorkerView, narrow_window, view_connection, view_report
from loadmonitor_router.client import MonitorClient
from loadmonitor_router.config import ClientConfig
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.pressure import PrefillRates
from loadmonitor_router.reports import WorkerReport
from loadmonitor_router.snapshot import WorkerTarget
from loadmonitor_router.stats import Histogram, ReconnectReason

_logger = logging.getLogger(__name__)


class Watch:
    """Follows one Worker from `start` to `stop`, and hands over a new view after each event in between.

    Attributes:
        target: Who.
        view: The newest view.
        stopped: Nothing is published any more.
    """

    def __init__(
        self,
        target: WorkerTarget,
        config: ClientConfig,
        *,
        freshness_ms: int,
        credentials: Credentials,
        options: Mapping[str, int | str] | None,
        clock: Clock,
        publish: Callable[[WorkerView], None],
        reconnects: Counter[ReconnectReason],
        delivery_age_seconds: Histogram,
    ) -> None:
        """Check the address and the options; nothing is dialled yet.

        Args:
            target: Who.
            config: What to tell it, and how long to wait.
            freshness_ms: The freshness window.
            credentials: TLS and token.
            options: gRPC channel options.
            clock: Time.
            publish: Takes each new view.
            reconnects: Counts attempts to dial again, for all Workers of a monitor.
            delivery_age_seconds: Observes reports as they are received, likewise.

        Raises:
            ConfigError: One of them isn't allowed.
        """
        self._client = MonitorClient(
            target.reporter,
            **asdict(config),
            credentials=credentials,
            options=options,
            on_connection=self._note_connection,
            on_report=self._take_report,
            clock=clock,
        )
        self._publish = publish
        self._reconnects = reconnects
        self._delivery_age_seconds = delivery_age_seconds
        self._rates = PrefillRates()
        self._warned: str | None = None
        self._task: asyncio.Task[None] | None = None
        self.stopped = False
        self.target = target
        self.view = WorkerView(target=target, connection=self._client.connection, freshness_ms=freshness_ms)

    @property
    def connection(self) -> Connection:
        """The state of the connection now."""
        return self._client.connection

    def start(self) -> asyncio.Task[None]:
        """Dial; the task ends once the Worker was hung up on after `stop`."""
        self._task = asyncio.create_task(self._run(), name=f"watch {self.target.url}")
        return self._task

    def stop(self) -> None:
        """Publish nothing any more, and hang up if it was dialled."""
        self.stopped = True
        if self._task is not None:
            self._task.cancel()

    def expire(self, now_ns: int) -> None:
        """Publish that the report isn't fresh any more, if so."""
        if self.view.fresh_until_ns is not None and self.view.fresh_until_ns < now_ns:
            self._replace(replace(self.view, fresh_until_ns=None))

    async def _run(self) -> None:
        async with self._client:
            await asyncio.Event().wait()  # until `stop`

    def _take_report(self, report: WorkerReport) -> None:
        view = view_report(self.view, self._client.connection, report, self._rates.observe(report))
        if view.received_age_ms is not None and not self.stopped:
            self._delivery_age_seconds.observe(view.received_age_ms / 1_000)
        self._replace(view)

    def _note_connection(self, connection: Connection) -> None:
        if connection.state is ConnectionState.REGISTERED:
            self._warn_once(connection)
        if connection.reconnects > self.view.connection.reconnects:
            self._reconnects[ReconnectReason.of(connection.last_error)] += 1
        self._replace(view_connection(self.view, connection))

    def _replace(self, view: WorkerView) -> None:
        if not self.stopped:
            self.view = view
            self._publish(view)

    def _warn_once(self, connection: Connection) -> None:
        narrow = narrow_window(connection, self.view.freshness_ms)
        if narrow is not None and narrow != self._warned:
            _logger.warning("%s: %s", self.target.url, narrow)
            self._warned = narrow

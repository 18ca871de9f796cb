"""Follows some Workers at once, and hands what is new to an output; all output comes from one task."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import count

from loadmonitor_router._clock import SystemClock
from loadmonitor_router.age import Freshness
from loadmonitor_router.cli._output import Output
from loadmonitor_router.cli._process import own_router_id, quiet_library, stop_signals
from loadmonitor_router.cli._view import WorkerView, view
from loadmonitor_router.cli._workers import Finding
from loadmonitor_router.client import MonitorClient
from loadmonitor_router.config import ClientConfig
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.discovery import Discovery
from loadmonitor_router.errors import StreamRefusedError
from loadmonitor_router.interfaces import Clock
from loadmonitor_router.reports import WorkerReport
from loadmonitor_router.snapshot import WorkerTarget

_TICK_SECONDS = 0.2
_FIRST_REPORT_NS = 2_000_000_000  # how long after the registration it is no news that a report hasn't come


class Watch:
    """The Workers of one command."""

    def __init__(
        self,
        discovery: Discovery,
        output: Output,
        *,
        report_interval_ms: int = 1_000,
        lease_ttl_ms: int = 15_000,
        credentials: Credentials = PLAINTEXT,
        clock: Clock | None = None,
    ) -> None:
        """Check the settings; nothing is dialled yet.

        Raises:
            ConfigError: A setting isn't allowed.
        """
        self._config = ClientConfig(
            router_id=own_router_id("watch"), report_interval_ms=report_interval_ms, lease_ttl_ms=lease_ttl_ms
        )
        self._credentials = credentials
        self._numbers = count()
        self._finding = Finding(discovery, self._reconcile)
        self._clock = SystemClock() if clock is None else clock
        self._output = output
        self._clients: dict[str, MonitorClient] = {}
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._reports: dict[str, WorkerReport] = {}
        self._shown: dict[str, tuple[WorkerReport | None, Freshness, str | None]] = {}
        self._exit_code: int | None = None

    async def forever(self) -> int:
        """Show news until stopped; return the exit code."""
        async with self._following():
            await self._show_until(lambda _: False)
        return 1 if self._exit_code is None else self._exit_code

    async def until_fresh(self, timeout_seconds: float) -> int:
        """Show news until every Worker is fresh at once, or the time is over; return the exit code."""
        reached = False
        async with self._following():
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    reached = await self._show_until(_all_fresh)
            if not reached and self._exit_code is None:
                for shown in self._views():
                    self._output.show(shown)
        if self._exit_code is not None:
            return self._exit_code
        return 0 if reached else 1

    async def _show_until(self, enough: Callable[[list[WorkerView]], bool]) -> bool:
        """Show news until it is enough; return False when that can't come any more: stopped, or refused by every Worker."""
        while self._exit_code is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._news.wait()
            self._news.clear()
            views = self._views()
            for shown in views:
                self._show_news(shown)
            self._output.draw(views, self._finding.trouble)
            if enough(views):
                return True
            if self._all_refused() or self._looking.done():
                break
        return False

    async def first(self, timeout_seconds: float) -> int:
        """Show the first report of each Worker, or why there is none in time; return the exit code."""
        async with self._following():
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    while self._exit_code is None and not self._all_heard() and not self._looking.done():
                        await self._news.wait()
                        self._news.clear()
            if self._exit_code is not None:
                return self._exit_code or 1  # SIGTERM is no answer to the question whether all are fresh
            views = self._views()
        for shown in views:
            self._output.show(shown)
        self._output.draw(views, self._finding.trouble)
        return 0 if _all_fresh(views) else 1

    def _all_heard(self) -> bool:
        """Whether nobody is to be waited for; where a discovery finds nobody, somebody may still come."""
        return bool(self._clients) and all(
            address in self._reports or self._refused(address) for address in self._clients
        )

    def _all_refused(self) -> bool:
        """Whether nobody will ever report: all have refused, and no others can come."""
        return self._finding.final and self._finding.known and all(map(self._refused, self._clients))

    def _refused(self, address: str) -> bool:
        return self._clients[address].connection.state is ConnectionState.FAILED

    def _views(self) -> list[WorkerView]:
        return [
            view(address, client.connection, self._reports.get(address), self._clock)
            for address, client in sorted(self._clients.items())
        ]

    def _show_news(self, shown: WorkerView) -> None:
        """Show a new report, or a verdict that has changed without one; that an age has grown is no news."""
        verdict = shown.assessment
        missing = verdict.freshness is Freshness.MISSING
        news = (shown.report, verdict.freshness, verdict.reason if missing else None)
        if news == self._shown.get(shown.worker) or (missing and _is_starting(shown)):
            return
        self._shown[shown.worker] = news
        self._output.show(shown)

    @asynccontextmanager
    async def _following(self) -> AsyncIterator[None]:
        self._news = asyncio.Event()
        with quiet_library(), stop_signals(self.stop):
            try:
                async with self._finding.looking() as self._looking:
                    self._looking.add_done_callback(lambda _: self._news.set())
                    yield
            finally:
                self._hang_up(list(self._clients))
                if self._leaving:
                    await asyncio.wait(self._leaving)
                self._output.close()

    def _reconcile(self, workers: Iterable[WorkerTarget]) -> None:
        """Follow these Workers from now on; of one that is gone the last news is that it is."""
        wanted = {worker.reporter for worker in workers}
        gone = [address for address in self._clients if address not in wanted]
        for address in gone:
            connection = replace(
                self._clients[address].connection,
                state=ConnectionState.CLOSED,
                since_ns=self._clock.monotonic_ns(),
                retry_at_ns=None,
                grant=None,
                last_error="gone from the workers that the discovery finds",
            )
            self._show_news(view(address, connection, None, self._clock))
        self._hang_up(gone)
        for address in sorted(wanted - self._clients.keys()):
            # An id for each stream, because two addresses may lead to one Worker.
            config = replace(self._config, router_id=f"{self._config.router_id}-{next(self._numbers)}")
            note = partial(self._note_connection, address, config.router_id)
            client = MonitorClient(
                address, **asdict(config), credentials=self._credentials, on_connection=note, clock=self._clock
            )
            self._clients[address] = client
            self._followers[address] = asyncio.create_task(self._follow(address, client))
        self._news.set()

    def _hang_up(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            del self._clients[address]
            self._reports.pop(address, None)
            self._shown.pop(address, None)
            follower = self._followers.pop(address)
            follower.cancel()
            self._leaving.add(follower)
            follower.add_done_callback(self._leaving.discard)

    async def _follow(self, address: str, client: MonitorClient) -> None:
        with suppress(StreamRefusedError):  # the connection says so
            async with client:
                async for report in client:
                    self._reports[address] = report
                    self._news.set()

    def _note_connection(self, address: str, router_id: str, connection: Connection) -> None:
        client = self._clients.get(address)
        # Who was hung up on may still be closing when the Worker is back under another id.
        current = client is not None and client.config.router_id == router_id
        if current and connection.state is not ConnectionState.REGISTERED:
            self._reports.pop(address, None)
        self._news.set()

    def stop(self, code: int) -> None:
        """End `forever` or `first` with this exit code."""
        self._exit_code = code
        self._news.set()


def _all_fresh(views: Sequence[WorkerView]) -> bool:
    return bool(views) and all(shown.assessment.freshness is Freshness.FRESH for shown in views)


def _is_starting(shown: WorkerView) -> bool:
    connection = shown.connection
    if connection.state is ConnectionState.REGISTERED:
        return shown.now_ns - connection.since_ns < _FIRST_REPORT_NS
    dialling = connection.state in {ConnectionState.CLOSED, ConnectionState.CONNECTING}  # CLOSED before it begins
    return dialling and connection.last_error is None

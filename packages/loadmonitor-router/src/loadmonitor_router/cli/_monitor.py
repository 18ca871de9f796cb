"""The fleet of a command: a client for each address, read as a snapshot and as counters."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Self

from loadmonitor_router._clock import SystemClock
from loadmonitor_router.age import age_ms
from loadmonitor_router.cli._view import view
from loadmonitor_router.client import MonitorClient
from loadmonitor_router.config import normalize_address
from loadmonitor_router.connection import Connection, ConnectionState
from loadmonitor_router.errors import ConfigError, DropReason, StreamRefusedError
from loadmonitor_router.reports import WorkerReport
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad, WorkerTarget
from loadmonitor_router.stats import Histogram, ReconnectReason

_NS_PER_MS = 1_000_000


class CommandMonitor:
    """Watches some addresses; a `MonitorStats`, and the source of `FleetSnapshot`s."""

    def __init__(self, addresses: Sequence[str], *, router_id: str, interval_ms: int, lease_ttl_ms: int) -> None:
        """Check the settings; nothing is dialled yet.

        Raises:
            ConfigError: An address or a setting isn't allowed, or an address is there twice.
        """
        self.news = asyncio.Event()
        self.delivery_age_seconds = Histogram()
        self.reconnects_total: Counter[ReconnectReason] = Counter()
        self.fail_open: bool | None = None
        self.picks_total: dict[str, int] = {}
        self._clock = SystemClock()
        self._reports: dict[str, WorkerReport] = {}
        self._version = 0
        self._clients: dict[str, MonitorClient] = {}
        for address in sorted(map(normalize_address, addresses)):
            if address in self._clients:
                raise ConfigError(f"address {address!r} is there twice: name each load reporter once")
            self._clients[address] = MonitorClient(
                address,
                router_id=router_id,
                report_interval_ms=interval_ms,
                lease_ttl_ms=lease_ttl_ms,
                on_connection=partial(self._note_connection, address),
                clock=self._clock,
            )

    async def __aenter__(self) -> Self:
        self._followers = [asyncio.create_task(self._follow(*item)) for item in self._clients.items()]
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        await asyncio.gather(*self._followers)

    def snapshot(self) -> FleetSnapshot:
        """Return the fleet as it stands."""
        now_ns = self._clock.monotonic_ns()
        loads = {address: self._load(address, client) for address, client in self._clients.items()}
        return FleetSnapshot(version=self._version, taken_ns=now_ns, workers=loads)

    @property
    def reports_total(self) -> int:
        """Reports that arrived."""
        return sum(client.connection.received for client in self._clients.values())

    @property
    def dropped_reports_total(self) -> Counter[DropReason]:
        """Reports dropped, by reason."""
        return sum((Counter(client.connection.dropped) for client in self._clients.values()), Counter())

    @property
    def sessions(self) -> Counter[ConnectionState]:
        """Workers by the state of their connection."""
        return Counter(client.connection.state for client in self._clients.values())

    def _load(self, address: str, client: MonitorClient) -> WorkerLoad:
        shown = view(address, client.connection, self._reports.get(address), self._clock)
        report = shown.report
        received_ns = None if report is None else report.receipt.monotonic_ns
        return WorkerLoad(
            target=WorkerTarget(url=address, reporter=address),
            freshness=shown.assessment.freshness,
            reason=shown.assessment.reason,
            age_ms=shown.assessment.age_ms,
            receipt_age_ms=None if received_ns is None else (shown.now_ns - received_ns) / _NS_PER_MS,
            report=report,
            aggregate=None,
            queue_pressure_seconds={},
            connection=shown.connection,
        )

    async def _follow(self, address: str, client: MonitorClient) -> None:
        with suppress(StreamRefusedError):  # the connection says so
            async with client:
                async for report in client:
                    self._reports[address] = report
                    age = age_ms(report, report.receipt.monotonic_ns)
                    if age is not None:
                        self.delivery_age_seconds.observe(age / 1_000)
                    self._version += 1
                    self.news.set()

    def _note_connection(self, address: str, connection: Connection) -> None:
        if connection.state is not ConnectionState.REGISTERED:
            self._reports.pop(address, None)
        if connection.state is ConnectionState.BACKING_OFF:
            self.reconnects_total[ReconnectReason.of(connection.last_error)] += 1
        self._version += 1
        self.news.set()

"""The load of a whole fleet: one stream to each Worker, and one immutable snapshot of them all."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from types import MappingProxyType, TracebackType
from typing import Self

from loadmonitor_router._clock import SystemClock
from loadmonitor_router._fleet import compare_fleet
from loadmonitor_router._fork import check_not_forked
from loadmonitor_router._view import WorkersAt, WorkerView
from loadmonitor_router._watch import Watch
from loadmonitor_router.age import DEFAULT_FRESHNESS_MS
from loadmonitor_router.config import ClientConfig
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.errors import ClientStateError, ConfigError, DropReason
from loadmonitor_router.interfaces import Clock, TimerHandle
from loadmonitor_router.snapshot import FleetSnapshot, WorkerLoad, WorkerTarget
from loadmonitor_router.stats import Histogram, MonitorStats, ReconnectReason


class LoadMonitor:
    """Watches a fleet of Workers: `async with` opens it, `reconcile` says who they are, `snapshot` what they do.

        async with LoadMonitor(router_id="router-a") as monitor:
            monitor.reconcile([WorkerTarget(url="http://10.0.0.1:30000", reporter="10.0.0.1:50061")])
            ...
            load = monitor.fresh_load("http://10.0.0.1:30000")

    Every Worker has a connection, a task and a state of its own, so that none waits for another; each is dialled again as
    MonitorClient does it. A Worker that refuses this router for good stays FAILED until it was taken out and put in again.

    Freshness is judged when it is asked for, so a report turns stale by itself. With the loss of its connection a Worker's
    report is dropped and the Worker is MISSING, though the report may be younger than the window: who doesn't answer may be
    gone, and the next connection brings a new report at once.

    The monitor belongs to the event loop that opened it and is called on that loop; snapshots may go anywhere. It may be
    entered again once it was left, without Workers.
    """

    def __init__(
        self,
        *,
        router_id: str,
        report_interval_ms: int = 1_000,
        freshness_ms: int = DEFAULT_FRESHNESS_MS,
        lease_ttl_ms: int = 15_000,
        connect_timeout_ms: int = 2_000,
        ack_timeout_ms: int = 2_000,
        max_unacked_reports: int | None = 1,
        clock: Clock | None = None,
        credentials: Credentials = PLAINTEXT,
        options: Mapping[str, int | str] | None = None,
    ) -> None:
        """Check the settings; nothing is dialled yet.

        Args:
            router_id: Names this router at every Worker; two routers with one id replace each other. Not blank.
            report_interval_ms: Wished time between reports. A Worker may grant another.
            freshness_ms: A report of this age is still fresh. At least twice the interval, or a report that comes a little
                late would turn its Worker stale. Where a Worker grants so long an interval that the window is too short for
                it, the log says so once, and so does the reason whenever the Worker isn't fresh.
            lease_ttl_ms: Wished lease.
            connect_timeout_ms: Time to get a connection.
            ack_timeout_ms: Time to have the registration acknowledged.
            max_unacked_reports: Reports that may be under way at once, or None for no acknowledgements.
            clock: Time; the machine's when None.
            credentials: The files of TLS and of the bearer token, read at each dialling; by default plaintext, and no token.
            options: gRPC channel options to add or change; see `loadmonitor_proto.channel.client_options`.

        Raises:
            ConfigError: A setting isn't allowed.
        """
        self.config: ClientConfig = ClientConfig(
            router_id=router_id,
            report_interval_ms=report_interval_ms,
            lease_ttl_ms=lease_ttl_ms,
            max_unacked_reports=max_unacked_reports,
            connect_timeout_ms=connect_timeout_ms,
            ack_timeout_ms=ack_timeout_ms,
        )
        if type(freshness_ms) is not int or freshness_ms < 2 * report_interval_ms:
            raise ConfigError(
                f"freshness_ms={freshness_ms!r} is not allowed: an integer of at least twice report_interval_ms is, "
                f"{2 * report_interval_ms} or more"
            )
        self.freshness_ms: int = freshness_ms
        self._credentials = credentials
        self._options = options
        self._clock = SystemClock() if clock is None else clock
        self._open = False
        self._watches: dict[str, Watch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._views: dict[str, WorkerView] = {}
        self._views_shared = False
        self._version = 0
        self._news: asyncio.Event | None = None
        self._expiry_ns: int | None = None
        self._expiry: TimerHandle | None = None
        self._received = 0
        self._dropped: Counter[DropReason] = Counter()
        self._reconnects: Counter[ReconnectReason] = Counter()
        self._delivery_age_seconds = Histogram()

    async def __aenter__(self) -> Self:
        check_not_forked("the monitor")
        if self._open:
            raise ClientStateError("the monitor is open already: leave it before entering it again")
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell every Worker to stop, and hang up; none is waited for longer than a second."""
        self.reconcile(())
        self._expire_at(None)
        self._open = False
        self._wake()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def reconcile(self, workers: Iterable[WorkerTarget]) -> None:
        """Make these the Workers that are watched: call it with all of them, whenever and as often as you like.

        New ones are dialled, those that are gone leave every output at once and are hung up on. A Worker of which anything
        has changed is a new one. All others keep their connection, their report and their place in the order of reports.

        Raises:
            DuplicateWorkerError: Two of them share a url or a load reporter; nothing was changed.
            ConfigError: A url or a reporter's address isn't one, or an option isn't allowed; nothing was changed.
            ClientStateError: The monitor isn't open.
        """
        self._require_open()
        change = compare_fleet({url: watch.target for url, watch in self._watches.items()}, workers)
        started = [
            Watch(
                target,
                self.config,
                freshness_ms=self.freshness_ms,
                credentials=self._credentials,
                options=self._options,
                clock=self._clock,
                publish=self._publish,
                reconnects=self._reconnects,
                delivery_age_seconds=self._delivery_age_seconds,
            )
            for target in change.start
        ]
        for target in change.stop:
            self._stop(self._watches.pop(target.url))
        self._watches.update((watch.target.url, watch) for watch in started)
        if started:
            self._keep(asyncio.create_task(self._start(started), name="start watches"))
        if change.stop or change.start:
            self._views = {url: watch.view for url, watch in sorted(self._watches.items())}
            self._views_shared = False
            self._wake()

    def snapshot(self) -> FleetSnapshot:
        """Return all Workers as they stand now, in constant time: each is worked out when it is asked for.

        Without Workers before the first `reconcile` and after the monitor was left.
        """
        now_ns = self._clock.monotonic_ns()
        if self._expiry_ns is not None and now_ns > self._expiry_ns:
            self._expire()
        self._views_shared = True
        return FleetSnapshot(version=self._version, taken_ns=now_ns, workers=WorkersAt(self._views, now_ns))

    def fresh_load(self, url: str) -> WorkerLoad | None:
        """Return a Worker's load if it may be acted upon, else None: also when the Worker isn't known."""
        return self.snapshot().fresh_load(url)

    async def changed(self, version: int) -> FleetSnapshot:
        """Wait until more is known than in the snapshot of this version; return the snapshot then.

        A new report, a dropped one, a verdict, a connection and a Worker that comes or goes are changes; a growing age is
        none. Who is slow finds the newest snapshot only.

        Raises:
            ClientStateError: The monitor isn't open, or was left while waiting.
        """
        self._require_open()
        while (snapshot := self.snapshot()).version <= version:
            if self._news is None:
                self._news = asyncio.Event()
            await self._news.wait()
            self._require_open()
        return snapshot

    async def changes(self) -> AsyncGenerator[FleetSnapshot]:
        """Iterate over snapshots: the one of now, then one after each change, until the monitor is left.

        Raises:
            ClientStateError: The monitor isn't open when the iteration begins.
        """
        self._require_open()
        snapshot = self.snapshot()
        while self._open:
            yield snapshot
            with suppress(ClientStateError):  # left
                snapshot = await self.changed(snapshot.version)

    @property
    def stats(self) -> MonitorStats:
        """What was counted so far; it doesn't change afterwards."""
        connections = [watch.connection for watch in self._watches.values()]
        dropped = Counter(self._dropped)
        for connection in connections:
            dropped.update(connection.dropped)
        return MonitorStats(
            reports_total=self._received + sum(connection.received for connection in connections),
            dropped_reports_total=MappingProxyType(dropped),
            reconnects_total=MappingProxyType(Counter(self._reconnects)),
            sessions=MappingProxyType(Counter(connection.state for connection in connections)),
            delivery_age_seconds=deepcopy(self._delivery_age_seconds),
        )

    def _require_open(self) -> None:
        check_not_forked("the monitor")
        if not self._open:
            raise ClientStateError("the monitor isn't open: use it inside `async with`")

    async def _start(self, watches: Iterable[Watch]) -> None:
        """Dial one Worker a turn of the loop: with all at once, answers would wait until the last one is dialled."""
        for watch in watches:
            if not watch.stopped:
                self._keep(watch.start())
                await asyncio.sleep(0)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop(self, watch: Watch) -> None:
        connection = watch.connection
        self._received += connection.received
        self._dropped.update(connection.dropped)
        watch.stop()

    def _publish(self, view: WorkerView) -> None:
        if self._views_shared:
            self._views = dict(self._views)
            self._views_shared = False
        self._views[view.target.url] = view
        self._wake()
        if view.fresh_until_ns is not None and (self._expiry_ns is None or view.fresh_until_ns < self._expiry_ns):
            self._expire_at(view.fresh_until_ns)

    def _wake(self) -> None:
        """Begin a new version."""
        self._version += 1
        if self._news is not None:
            self._news.set()
            self._news = None

    def _expire(self) -> None:
        """Notice every report that isn't fresh any more; come again when the next one is due."""
        self._expire_at(None)
        now_ns = self._clock.monotonic_ns()
        for watch in self._watches.values():
            watch.expire(now_ns)
        deadlines = [view.fresh_until_ns for view in self._views.values() if view.fresh_until_ns is not None]
        self._expire_at(min(deadlines, default=None))

    def _expire_at(self, deadline_ns: int | None) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry_ns = deadline_ns
        self._expiry = None if deadline_ns is None else self._clock.call_at(deadline_ns + 1, self._expire)

"""What a router holds: listed workers, one job record per URL, reserved ids; and the processes that change it over time."""

import heapq
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Literal, TypeAlias
from uuid import UUID

from router_lifecycle.testing.engine import FakeEngine, Health, engine_address
from router_lifecycle.testing.profiles import IdKind, RouterProfile

Process: TypeAlias = Generator[float, None, None]
"""Something that goes on over time: it yields how many seconds it waits, and changes the state in between."""

JobType: TypeAlias = Literal["AddWorker", "RemoveWorker", "UpdateWorker"]
EventKind: TypeAlias = Literal["listed", "healthy", "unhealthy", "draining", "gone"]

RECORD_LIFE_SECONDS = 300
SWEEP_SECONDS = 60.0
# The router looks for the end of a job in growing steps, which is why a record outlives its job by up to 2 s.
_FIRST_POLL_SECONDS, _POLL_GROWTH_SECONDS, _LONGEST_POLL_SECONDS = 0.1, 0.2, 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterOptions:
    """The flags that a router was started with.

    Attributes:
        api_key: The key that it asks for, or None.
        dp_aware: Whether each data-parallel rank of a worker is an entry of its own.
        startup_timeout_seconds: How long a new worker may take to become healthy, or None for the release's default.
        drain_seconds: How long SMG keeps a removed worker.
        check_interval_seconds: Time between the health checks of listed workers.
        random_failure_rate: Share of registrations and of removals that fail without a reason, 0 to 1, but for SMG's removals;
            sglang-router 0.3.0 does so with about 0.05 of the registrations of URLs that were registered before, and 0.05 to 0.1
            of the removals, which leave the worker listed and routed to.
        seed: Of everything random: ids, and which jobs fail.
    """

    api_key: str | None = None
    dp_aware: bool = False
    startup_timeout_seconds: float | None = None
    drain_seconds: float = 5.0
    check_interval_seconds: float = 60.0
    random_failure_rate: float = 0.0
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class PostedWorker:
    """A worker as it was posted, defaults filled in."""

    url: str
    worker_type: str = "regular"
    model_id: str | None = None
    priority: int = 50
    cost: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)
    api_key: str | None = None
    bootstrap_port: int | None = None
    extras: Mapping[str, str] = field(default_factory=dict)
    """Fields that come back as they were posted: parsers, tokenizer, chat template."""


@dataclass(kw_only=True, slots=True)
class Entry:
    """A listed worker, or one rank of it."""

    id: str
    url: str
    posted: PostedWorker
    engine: FakeEngine | None
    """The engine that it was read from, or None when nothing could be read."""
    is_healthy: bool
    is_draining: bool = False
    dp_rank: int | None = None
    registrations: int = 1
    failed_checks: int = 0


@dataclass(frozen=True, slots=True)
class JobRecord:
    """The record of the last change of a job; a router has one per URL, whoever writes last wins."""

    job_type: JobType
    worker_url: str
    status: Literal["pending", "processing", "failed"]
    timestamp: int
    """Epoch seconds."""
    message: str | None = None


@dataclass(frozen=True, slots=True)
class RegistryEvent:
    """Something that happened to a listed worker, for a test to hold a client's claims against.

    Attributes:
        at_seconds: When, on the router's clock.
        kind: `listed`, `healthy`, `unhealthy`, `draining` or `gone`.
        url: As it is listed, with `@rank` for a rank.
        worker_id: Its id.
        priority: As posted; give each registration one of its own to tell whose entry this is.
    """

    at_seconds: float
    kind: EventKind
    url: str
    worker_id: str
    priority: int


class RouterState:
    """The whole state of one router process. Time is what `settle` was last told."""

    def __init__(
        self,
        profile: RouterProfile,
        options: RouterOptions,
        engines: Mapping[str, FakeEngine],
        now_seconds: float,
        epoch_seconds: float,
        seed: str,
        events: list[RegistryEvent],
    ) -> None:
        """Start a router at a time of the clock, with the epoch that belongs to the clock's zero."""
        self.profile = profile
        self.options = options
        self.now: float = now_seconds
        self.entries: dict[str, Entry] = {}
        self.records: dict[str, JobRecord] = {}
        self.reserved_ids: dict[str, str] = {}
        self.creating: dict[str, PostedWorker] = {}
        self._events = events
        self.random: Random = Random(seed)  # noqa: S311 - ids and failures of a fake
        self._engines = engines
        self._epoch_seconds = epoch_seconds
        self._due: list[tuple[float, int, Process]] = []
        self._order = count()
        self.start(self._sweeps())
        self.start(self._health_checks())

    @property
    def startup_timeout_seconds(self) -> float:
        """How long a new worker may take to become healthy."""
        given = self.options.startup_timeout_seconds
        return self.profile.startup_timeout_seconds if given is None else given

    @property
    def epoch_now(self) -> int:
        """The time as routers write it: whole seconds since the epoch."""
        return int(self._epoch_seconds + self.now)

    def start(self, process: Process) -> None:
        """Let a process begin now."""
        self._go_on(process)

    def settle(self, now_seconds: float) -> None:
        """Let everything happen that is due until a time, in order."""
        while self._due and self._due[0][0] <= now_seconds:
            at_seconds, _, process = heapq.heappop(self._due)
            self.now = max(self.now, at_seconds)
            self._go_on(process)
        self.now = max(self.now, now_seconds)

    def poll_after(self, started_seconds: float) -> float:
        """Return the seconds until the router next looks whether a job that started then has ended."""
        step, at_seconds = _FIRST_POLL_SECONDS, started_seconds
        while (at_seconds := round(at_seconds + step, 6)) < self.now:
            step = min(step + _POLL_GROWTH_SECONDS, _LONGEST_POLL_SECONDS)
        return max(0.0, at_seconds - self.now)

    def engine_of(self, url: str) -> FakeEngine | None:
        """Return the engine that the router reaches under a URL."""
        address = engine_address(url)
        return self._engines.get(address) if address is not None else None

    def health_of(self, url: str) -> Health:
        """Return how a probe of a URL is answered now."""
        engine = self.engine_of(url)
        return Health.DOWN if engine is None else engine.health_at(self.now)

    def entries_of(self, url: str) -> list[Entry]:
        """Return what is listed under exactly this URL."""
        return [entry for entry in self.entries.values() if entry.url == url]

    def ranks_of(self, url: str) -> list[Entry]:
        """Return what is listed as a rank of this URL."""
        return [entry for entry in self.entries.values() if entry.url.startswith(f"{url}@")]

    def id_of(self, url: str) -> str:
        """Return the id under which a URL is, or would be, known."""
        if self.profile.ids is IdKind.URL:
            return url
        if url not in self.reserved_ids:
            self.reserved_ids[url] = self._new_id()
        return self.reserved_ids[url]

    def record(
        self,
        job_type: JobType,
        url: str,
        status: Literal["pending", "processing", "failed"],
        message: str | None = None,
    ) -> None:
        """Write the one record of a URL, over whatever was there."""
        self.records[url] = JobRecord(job_type, url, status, self.epoch_now, message)

    def list_entry(self, entry: Entry) -> None:
        """Put a worker into the list."""
        known = self.entries.get(entry.id)
        if known is not None:
            entry = replace(entry, registrations=known.registrations + 1)
        self.entries[entry.id] = entry
        self.tell("listed", entry)
        if entry.is_healthy:
            self.tell("healthy", entry)

    def drop_entry(self, entry: Entry) -> None:
        """Take a worker out of the list; its id is free again, and never given to anyone else."""
        del self.entries[entry.id]
        self.reserved_ids.pop(entry.url, None)
        self.tell("gone", entry)

    def end(self) -> None:
        """End the process: nobody is listed any more."""
        for entry in list(self.entries.values()):
            self.drop_entry(entry)
        self._due.clear()

    def set_health(self, entry: Entry, *, is_healthy: bool) -> None:
        """Turn a listed worker healthy or not."""
        if entry.is_healthy is not is_healthy:
            entry.is_healthy = is_healthy
            self.tell("healthy" if is_healthy else "unhealthy", entry)

    def tell(self, kind: EventKind, entry: Entry) -> None:
        """Note an event."""
        self._events.append(RegistryEvent(self.now, kind, entry.url, entry.id, entry.posted.priority))

    def _go_on(self, process: Process) -> None:
        delay_seconds = next(process, None)
        if delay_seconds is not None:
            heapq.heappush(self._due, (self.now + delay_seconds, next(self._order), process))

    def _new_id(self) -> str:
        bits = self.random.getrandbits(128)
        if self.profile.ids is IdKind.UUID4:
            return str(UUID(int=bits, version=4))
        milliseconds = int((self._epoch_seconds + self.now) * 1000)
        return str(
            UUID(
                int=(milliseconds << 80) | (7 << 76) | ((bits >> 52) & (0xFFF << 64)) | (2 << 62) | (bits & (2**62 - 1))
            )
        )

    def _sweeps(self) -> Process:
        while True:
            yield SWEEP_SECONDS
            for url, record in list(self.records.items()):
                is_over = record.status == "failed" or self.profile.evicts_running_jobs
                if is_over and self.epoch_now - record.timestamp >= RECORD_LIFE_SECONDS:
                    del self.records[url]

    def _health_checks(self) -> Process:
        while True:
            yield self.options.check_interval_seconds
            for entry in self.entries.values():
                if entry.is_draining:
                    continue
                if self.health_of(entry.url if entry.dp_rank is None else entry.posted.url) is Health.HEALTHY:
                    entry.failed_checks = 0
                    self.set_health(entry, is_healthy=True)
                else:
                    entry.failed_checks += 1
                    if entry.failed_checks >= 3:
                        self.set_health(entry, is_healthy=False)

"""Whom a command watches: the addresses it was given, or whom a discovery finds while it runs."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from loadmonitor_router.age import DEFAULT_FRESHNESS_MS
from loadmonitor_router.config import normalize_address
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.discovery import DEFAULT_REPORTER_PORT, Discovery, StaticDiscovery, parse_discovery
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError
from loadmonitor_router.monitor import LoadMonitor
from loadmonitor_router.snapshot import WorkerTarget


def named(addresses: Sequence[str]) -> tuple[WorkerTarget, ...]:
    """Return the Workers of some load reporters, named by them.

    Raises:
        ConfigError: An address isn't allowed, or is there twice.
    """
    targets: dict[str, WorkerTarget] = {}
    for given in addresses:
        address = normalize_address(given)
        if address in targets:
            raise ConfigError(f"address {given!r} is there twice: name each load reporter once")
        targets[address] = WorkerTarget(url=address, reporter=address)
    return tuple(targets.values())


def choose_workers(
    command: str, addresses: Sequence[str], discover: str | None, reporter_port: int | None
) -> Discovery:
    """Return what finds the Workers of a command.

    Raises:
        ConfigError: There are neither addresses nor a discovery, or both, or one of them isn't allowed.
        LoadMonitorRouterError: The discovery can't be had.
    """
    if addresses and discover is not None:
        raise ConfigError(f"{command} takes addresses or --discover, not both: the discovery says who is watched")
    if discover is not None:
        return parse_discovery(
            discover, reporter_port=DEFAULT_REPORTER_PORT if reporter_port is None else reporter_port
        )
    if reporter_port is not None:
        raise ConfigError(f"--reporter-port {reporter_port} goes with --discover: an address has its port already")
    if not addresses:
        raise ConfigError(f"{command} needs the address of a load reporter, such as 10.0.0.1:50061, or --discover")
    return StaticDiscovery(named(addresses))


def make_monitor(router_id: str, report_interval_ms: int, lease_ttl_ms: int, credentials: Credentials) -> LoadMonitor:
    """Return a monitor whose freshness window suits the interval.

    Raises:
        ConfigError: A setting isn't allowed.
    """
    return LoadMonitor(
        router_id=router_id,
        report_interval_ms=report_interval_ms,
        freshness_ms=max(DEFAULT_FRESHNESS_MS, 2 * report_interval_ms),
        lease_ttl_ms=lease_ttl_ms,
        credentials=credentials,
    )


class Finding:
    """Hands over each set of Workers that a discovery finds, and says what is wrong with the last look.

    Attributes:
        known: A set was found, so that an empty one says that there are no Workers.
        final: There will be no other set.
    """

    def __init__(self, discovery: Discovery, apply: Callable[[tuple[WorkerTarget, ...]], None]) -> None:
        """Look for nothing yet.

        Args:
            discovery: Where to look; closed at the end.
            apply: Takes each set; it may refuse one by a LoadMonitorRouterError, having changed nothing.
        """
        self._discovery = discovery
        self._apply = apply
        self._refused: str | None = None
        self._size = 0
        self.known = False
        self.final: bool = isinstance(discovery, StaticDiscovery)

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[asyncio.Task[None]]:
        """Look in the background; the task ends early only where the discovery itself fails, which is raised at the end."""
        task = asyncio.create_task(self._look(), name="find workers")
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})
            await self._discovery.aclose()
            if not task.cancelled():
                task.result()

    @property
    def trouble(self) -> str | None:
        """Why the Workers may not be those there are, or that there are none; None when all is well."""
        error = self._refused or self._discovery.last_error
        if error is not None:
            return f"{error}; {'the workers found before stand' if self.known else 'no workers are known'}"
        return "the discovery finds that there are no workers" if self.known and not self._size else None

    async def _look(self) -> None:
        async for workers in self._discovery:
            try:
                self._apply(workers)
            except LoadMonitorRouterError as error:
                self._refused = str(error)
            else:
                self._refused = None
                self._size = len(workers)
                self.known = True


class TroubleLines:
    """Tells of trouble on standard error, a line for each change."""

    def __init__(self) -> None:
        """Start without trouble."""
        self._told: str | None = None

    def tell(self, trouble: str | None) -> None:
        """Write a line when this is news."""
        if trouble != self._told:
            self._told = trouble
            sys.stderr.write(f"loadmonitor: {trouble or 'the discovery works, and finds workers'}\n")
            sys.stderr.flush()

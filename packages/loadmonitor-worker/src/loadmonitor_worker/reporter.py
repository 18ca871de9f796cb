"""The handle of a running reporter, and the function that starts one; gRPC is imported only when one is started."""

import asyncio
import importlib
import importlib.util
import math
from collections.abc import Collection
from types import TracebackType
from typing import TYPE_CHECKING, Self

from loadmonitor_worker._ranks import checked_ranks
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ConfigError, MissingExtraError
from loadmonitor_worker.interfaces import Authorizer, Clock, LoadSnapshotSource
from loadmonitor_worker.measurements import Measurements
from loadmonitor_worker.state import IdleOutcome, WorkerState, checked_state

if TYPE_CHECKING:
    import grpc.aio

    from loadmonitor_worker._fire import ReporterCounters
    from loadmonitor_worker._server import ReporterServer


class LoadReporter:
    """A running load reporter; end it with `close`, or use it as an async context manager.

    Attributes:
        address: Where it listens, `host:port`.
        source_instance_id: The id under which its reports are numbered.
    """

    def __init__(self, server: "ReporterServer") -> None:
        self._server = server
        self._closing: asyncio.Task[None] | None = None
        self.address: str = server.address
        self.source_instance_id: str = server.source_instance_id

    @property
    def counters(self) -> "ReporterCounters":
        """What the reporter has done since it started."""
        return self._server.counters

    @property
    def worker_state(self) -> WorkerState | None:
        """What reports say of the engine's state; None, and they say nothing, until one is set."""
        return self._server.worker_state

    def measure(self) -> Measurements:
        """Return what the reporter measured of itself.

        Timings, bytes and reports by status are measured from the first call on: until then nothing is spent on them.
        """
        return self._server.measure()

    def set_worker_state(self, state: WorkerState) -> None:
        """Tell routers where the engine stands, from the next report on; a changed state makes one due at once for all.

        Set right after the start, it is told by the first report. Routers send a LOADING, DRAINING or PAUSED engine no new
        requests, however idle it is.

        Raises:
            ConfigError: `state` isn't a `WorkerState`.
        """
        self._server.set_worker_state(checked_state(state))

    async def wait_until_idle(self, timeout_seconds: float) -> IdleOutcome:
        """Wait until every router knows the state and the engine then had nothing to do for a second, or until the limit.

        An engine is idle when all its ranks run nothing and nothing waits, in numbers taken after the last router was told. One
        that can't be read, or doesn't date its numbers, isn't known to be idle. A router was told when it acknowledged a report
        with the state or, if it doesn't acknowledge, when one was sent to it. The engine is read five times a second.

        Args:
            timeout_seconds: The limit, from 0.

        Returns:
            Whether it is idle, else what was in the way when the limit was reached or the reporter closed.

        Raises:
            ConfigError: The limit isn't a finite number from 0.
        """
        _check_timeout(timeout_seconds)
        return await self._server.wait_until_idle(timeout_seconds)

    async def drain(self, timeout_seconds: float) -> IdleOutcome:
        """Tell routers DRAINING, wait as `wait_until_idle` does, then close; closes at the limit too.

        A caller that is cancelled while it waits leaves the reporter open, and DRAINING.

        Raises:
            ConfigError: The limit isn't a finite number from 0; nothing was told.
        """
        _check_timeout(timeout_seconds)
        self.set_worker_state(WorkerState.DRAINING)
        outcome = await self.wait_until_idle(timeout_seconds)
        await self.close()
        return outcome

    def update_expected_dp_ranks(self, dp_ranks: Collection[int]) -> None:
        """Replace the ranks that make a read complete, when the engine changes its data-parallel size.

        From now on these count instead of the source's `expected_dp_ranks`. The next reports need the new set; nothing is
        read because of the change. A read in progress is repeated once, within its budget.

        Raises:
            ConfigError: No ranks, or one that isn't an integer of at least 0.
        """
        self._server.expected_dp_ranks = checked_ranks(dp_ranks)

    def add_orca_service(self, server: "grpc.aio.Server") -> None:
        """Serve ORCA's out-of-band reports on a server of your own, whether or not `ReporterConfig.orca` has them on this port.

        gRPC's clients ask for them on the connection that carries their requests, hence at the server that takes these. Once
        the reporter is closed, that server answers UNAVAILABLE, and clients go on without weights.

        Args:
            server: One of this reporter's event loop, not started yet.

        Raises:
            ServingModeError: Called on another event loop.
        """
        self._server.add_orca_service(server)

    async def close(self) -> None:
        """Tell every router SHUTTING_DOWN, stop reading the source and release the port, within about 2 seconds.

        Harmless when repeated. A caller that is cancelled leaves the shutdown running to its end.
        """
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._server.stop(), name="loadmonitor-close")
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        """Return the reporter."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the reporter."""
        await self.close()


def _check_timeout(timeout_seconds: float) -> None:
    if not 0 <= timeout_seconds < math.inf:
        raise ConfigError(f"timeout_seconds={timeout_seconds!r} is not allowed: a finite number from 0 is")


async def start_load_reporter(
    config: ReporterConfig,
    source: LoadSnapshotSource | None,
    *,
    clock: Clock | None = None,
    authorizer: Authorizer | None = None,
) -> LoadReporter | None:
    """Start reporting the load that `source` reads, on the running event loop.

    Args:
        config: Settings; `port=None` switches reporting off.
        source: Reads the engine's load; required when reporting is on.
        clock: Time; the default is the system's.
        authorizer: Decides who may register, beside what the settings ask for: a router needs the consent of all.

    Returns:
        The running reporter, or None when reporting is off: gRPC and protobuf are then not even imported.

    Raises:
        ConfigError: Reporting is on without a source, or a text of the configuration can't be sent.
        MissingExtraError: Reporting is on without the extra `[load-reporter]`.
        BindError: The address can't be listened on.
        CredentialFileError: A certificate, key or token file can't be used.
        ForkedProcessError: This process was forked while gRPC was in use.
    """
    if config.port is None:
        return None
    if source is None:
        raise ConfigError(f"load reporting is on (port={config.port}) without a source: pass one, or port=None")
    if any(importlib.util.find_spec(module) is None for module in ("grpc", "loadmonitor_proto")):
        raise MissingExtraError("load reporting", "load-reporter")

    # In a thread, because importing gRPC takes longer than an engine's event loop should stand still. The one first, because it
    # settles what gRPC reads when it is imported.
    for module in ("loadmonitor_proto.forking", "loadmonitor_worker._server"):
        await asyncio.to_thread(importlib.import_module, module)
    from loadmonitor_worker._clock import SystemClock  # noqa: PLC0415 - an engine that doesn't report doesn't pay
    from loadmonitor_worker._server import ReporterServer  # noqa: PLC0415

    authorizers = () if authorizer is None else (authorizer,)
    server = ReporterServer(config, source, clock or SystemClock(), authorizers)
    await server.start()
    return LoadReporter(server)

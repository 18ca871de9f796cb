"""A gate with its engines: what a trainer calls around its transfers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from router_lifecycle.publication._registering import Registering
from router_lifecycle.publication.engine import EngineLifecycle
from router_lifecycle.publication.errors import EngineStateError, GateError
from router_lifecycle.publication.gate import PublicationGate
from router_lifecycle.publication.generations import EngineGeneration, EngineState, WeightSnapshot
from router_lifecycle.publication.interfaces import PublishedVersions, RunningRequests, WeightTransfer
from router_lifecycle.publication.report import PublishReport

_LOOK_SECONDS = 0.5


class GatedFleet:
    """The engines behind one router, each routable only as the gate allows. For one event loop.

    Around a transfer of weights:

        snapshot = fleet.gate.snapshot("actor")
        await transfer(snapshot)                 # raises when it fails; then nothing is published
        report = await fleet.publish(snapshot, version)
    """

    def __init__(
        self,
        gate: PublicationGate,
        engines: Iterable[EngineLifecycle],
        versions: PublishedVersions,
        *,
        registration_timeout_seconds: float = 240.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the engines in.

        Args:
            gate: What decides.
            engines: All of them; two can't have one id.
            versions: Where publications are noted.
            registration_timeout_seconds: Bound of each registration.
            clock: Seconds on a clock that never steps, for draining.
            sleep: Waits on that clock.

        Raises:
            ValueError: Two engines have one id.
        """
        given = list(engines)
        self.gate = gate
        self.engines: dict[str, EngineLifecycle] = {engine.engine_id: engine for engine in given}
        if len(self.engines) < len(given):
            raise ValueError(f"two engines have one id: {sorted(engine.engine_id for engine in given)}")
        self.versions = versions
        self._registering = Registering(gate, self._engine, timeout_seconds=registration_timeout_seconds)
        self._clock = clock
        self._sleep = sleep

    async def start(self, engine_id: str) -> PublishReport:
        """Start an engine that isn't running, and register it unless its weights must be synchronised first.

        Raises:
            EngineStateError: It runs already.
            Exception: As `EngineLifecycle.start`.
        """
        generation = await self._engine(engine_id).start()
        try:
            self.gate.admit(generation)
        except GateError:
            self.gate.mark_pending(generation, reason="waits for a transfer of weights")
            return PublishReport()
        return await self._registering.register([generation])

    async def recover(self, engine_id: str) -> PublishReport:
        """Stop what is left of an engine, on all its nodes, and start it as a new generation, which waits if it has to.

        Raises:
            EngineStopError: What is left of it couldn't be stopped.
            Exception: As `EngineLifecycle.start`.
        """
        engine = self._engine(engine_id)
        if engine.generation is not None:
            self.gate.discard(engine.generation)
            await engine.stop()
        return await self.start(engine_id)

    async def publish(self, snapshot: WeightSnapshot, version: int) -> PublishReport:
        """Note that the transfer of a snapshot succeeded, and register the generations that waited for it.

        The version is noted first, so that the guard already knows it when the engines answer their first requests.

        Args:
            snapshot: What the transfer was given.
            version: Of its weights.

        Raises:
            ValueError: The version is below the last one, or (`GateError`) the snapshot is of another gate; nothing was released.
        """
        self.versions.publish(snapshot.model, version)
        return await self._registering.register(self.gate.publish(snapshot))

    async def rejoin(self, engine_id: str, version: int | None) -> PublishReport:
        """Take an engine back whose processes lived on while the router lost it, at once if it has the published weights.

        Otherwise, and while a transfer of its model runs or has failed, it waits for the next one.

        Args:
            engine_id: The engine.
            version: The version of its weights, as the engine itself says; None when it doesn't say.

        Raises:
            EngineStateError: It isn't running, is in quarantine, or its removal isn't confirmed.
        """
        engine = self._engine(engine_id)
        generation = self._running(engine)
        if self.gate.state_of(generation) is EngineState.QUARANTINED:
            raise EngineStateError(f"{generation} is in quarantine and can't rejoin: recover it")
        if generation.model not in self.gate.models:
            await self._withdrawn(engine)
            self.gate.discard(generation)
            self.gate.admit(generation)
            return await self._registering.register([generation])
        self.gate.mark_pending(generation, reason="left the router")
        await self._withdrawn(engine)
        published = self.versions.current(generation.model)
        if version is None or published is None or version != published or not self.gate.readmit(generation):
            return PublishReport()
        return await self._registering.register([generation])

    async def replace(
        self,
        model: str,
        version: int,
        transfer: WeightTransfer,
        *,
        running_requests: RunningRequests,
        drain_timeout_seconds: float = 60.0,
    ) -> PublishReport:
        """Update a model's engines one after the other: out of the router, drained, updated, back and routable, then the next.

        Never more than one engine is out of the router for it. It stops at the first engine that doesn't come back, and the
        version counts as published only when all have it.

        Args:
            model: Whose weights.
            version: Of the new ones.
            transfer: Updates the engine of each snapshot.
            running_requests: Tells whether an engine is idle.
            drain_timeout_seconds: How long to wait for that.

        Raises:
            GateError: The model is frozen.
            EngineStateError: An engine's removal isn't confirmed; it was not updated.
            Exception: Whatever the transfer raised; that engine stays out of the router.
        """
        if model not in self.gate.models:
            raise GateError(f"model {model!r} is frozen and not replaced: updatable are {sorted(self.gate.models)}")
        report = PublishReport()
        for entry in self.gate.engines:
            generation = entry.generation
            if generation.model != model or self.gate.state_of(generation) is not EngineState.ROUTABLE:
                continue
            engine = self._engine(generation.engine_id)
            if not await self._drained(engine, running_requests, drain_timeout_seconds):
                report.busy.append(generation)
            snapshot = self.gate.snapshot(model, engine_ids=[generation.engine_id])
            await transfer(snapshot)
            report.add(await self._registering.register(self.gate.publish(snapshot)))
            if report.pending or report.quarantined:
                return report
        self.versions.publish(model, version)
        return report

    async def retire(
        self, engine_id: str, *, running_requests: RunningRequests, drain_timeout_seconds: float = 60.0
    ) -> bool:
        """Take an engine out of the router, let it finish its requests, and stop it.

        Returns:
            Whether it was idle when it was stopped.

        Raises:
            EngineStateError: It isn't running, or its removal isn't confirmed; it still runs.
            EngineStopError: It couldn't be stopped.
        """
        engine = self._engine(engine_id)
        generation = self._running(engine)
        idle = await self._drained(engine, running_requests, drain_timeout_seconds)
        self.gate.discard(generation)
        await engine.stop()
        return idle

    async def _drained(self, engine: EngineLifecycle, running: RunningRequests, timeout_seconds: float) -> bool:
        """Withdraw an engine and wait until it is idle; an engine that can't tell isn't."""
        generation = self._running(engine)
        if generation.model in self.gate.models and self.gate.state_of(generation) is not EngineState.QUARANTINED:
            self.gate.mark_pending(generation, reason="drains")
        await self._withdrawn(engine)
        until = self._clock() + timeout_seconds
        while await running(engine.url or "") != 0:
            if self._clock() >= until:
                return False
            await self._sleep(_LOOK_SECONDS)
        return True

    async def _withdrawn(self, engine: EngineLifecycle) -> None:
        error = await engine.deregister()
        if error is not None:
            raise EngineStateError(
                f"engine {engine.engine_id} may still be routed: its removal isn't confirmed"
            ) from error

    def _engine(self, engine_id: str) -> EngineLifecycle:
        if engine_id not in self.engines:
            raise EngineStateError(f"engine {engine_id!r} isn't known: there are {sorted(self.engines)}")
        return self.engines[engine_id]

    @staticmethod
    def _running(engine: EngineLifecycle) -> EngineGeneration:
        if engine.generation is None:
            raise EngineStateError(f"engine {engine.engine_id} isn't running: start it")
        return engine.generation

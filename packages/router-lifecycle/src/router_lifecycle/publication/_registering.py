"""Registering released generations, and telling the gate what became of each."""

import asyncio
from collections.abc import Callable, Iterable

from router_lifecycle.errors import IdentityConflict, RegistrationFailed, RouterLifecycleError, SubmissionUnknown
from router_lifecycle.publication.engine import EngineLifecycle
from router_lifecycle.publication.errors import EngineStateError, EngineStopError
from router_lifecycle.publication.gate import PublicationGate
from router_lifecycle.publication.generations import EngineGeneration
from router_lifecycle.publication.report import PublishReport

# After these nobody can say what the router will do with this generation.
_QUARANTINES = (SubmissionUnknown, RegistrationFailed, IdentityConflict)


class Registering:
    """Registers what a gate has released."""

    def __init__(
        self, gate: PublicationGate, find_engine: Callable[[str], EngineLifecycle], *, timeout_seconds: float
    ) -> None:
        """Take the gate, what finds an engine by its id or raises EngineStateError, and the bound of each registration."""
        self._gate = gate
        self._find_engine = find_engine
        self._timeout = timeout_seconds

    async def register(self, generations: Iterable[EngineGeneration]) -> PublishReport:
        """Register released generations beside each other; one that fails holds up none of the others."""
        report = PublishReport()
        async with asyncio.TaskGroup() as group:
            for generation in generations:
                group.create_task(self._register_one(generation, report))
        return report

    async def _register_one(self, generation: EngineGeneration, report: PublishReport) -> None:
        try:
            engine = self._find_engine(generation.engine_id)
            await engine.register(generation, timeout_seconds=self._timeout)
        except _QUARANTINES as error:
            report.quarantined[generation] = error
            if self._gate.quarantine(generation, reason=str(error)):
                try:
                    await engine.stop()
                except EngineStopError as stuck:
                    report.quarantined[generation] = stuck
        except RouterLifecycleError as error:
            report.pending[generation] = error
            self._gate.still_pending(generation, reason=str(error))
        except BaseException:
            self._gate.still_pending(generation, reason="its registration was interrupted")
            raise
        else:
            if self._gate.registered(generation):
                report.registered.append(generation)
                return
            late = EngineStateError(f"{generation} was withdrawn while it was being registered")
            report.pending[generation] = late
            if engine.generation == generation:
                await engine.deregister()

"""One engine: its processes, and its registration around them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel

from router_lifecycle.client import RouterLifecycleClient
from router_lifecycle.errors import RouterLifecycleError
from router_lifecycle.handle import Phase, RegistrationHandle
from router_lifecycle.models import Worker
from router_lifecycle.publication._bounded import within
from router_lifecycle.publication.errors import EngineStateError, EngineStopError, URLUnresolvedError
from router_lifecycle.publication.generations import EngineGeneration
from router_lifecycle.publication.interfaces import EngineLauncher
from router_lifecycle.publication.unresolved import UnresolvedRemovals
from router_lifecycle.spec import WorkerSpec


class EngineRecord(BaseModel):
    """What has to be known of a running engine to go on with it in another process.

    A dump leaves out the worker's own key (see `WorkerSpec`).

    Attributes:
        generation: Its present life.
        handle: Its registration, or None until it serves.
    """

    generation: EngineGeneration
    handle: RegistrationHandle | None = None


@dataclass(frozen=True, slots=True)
class StopReport:
    """What stopping an engine met with; its processes are gone.

    Attributes:
        generation: Whose.
        deregistration_error: Why the router may still have it, or None; its URL is in the unresolved removals then.
        stop_error: Why it had to be killed, or None.
    """

    generation: EngineGeneration
    deregistration_error: BaseException | None = None
    stop_error: Exception | None = None


class EngineLifecycle:
    """Starts an engine without registering it, registers it as a step of its own, and stops it whatever the router does.

    For one event loop. It decides nothing about weights: call `register` for what a `PublicationGate` released, as
    `GatedFleet` does.
    """

    def __init__(
        self,
        engine_id: str,
        model: str,
        launcher: EngineLauncher,
        client: RouterLifecycleClient,
        unresolved: UnresolvedRemovals,
        *,
        record: EngineRecord | None = None,
        deregistration_timeout_seconds: float = 10.0,
        stop_timeout_seconds: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            engine_id: The engine's name.
            model: The model that it serves.
            launcher: Of its processes.
            client: Of the router.
            unresolved: The fleet's URLs that can't be used.
            record: Of a running engine that another process started, or None.
            deregistration_timeout_seconds: How long stopping waits for the router. SMG drains for 5 s by default.
            stop_timeout_seconds: How long it waits for the launcher, once for asking and once for killing.
            sleep: Waits for these bounds.

        Raises:
            ValueError: A bound isn't above 0.
        """
        if not (deregistration_timeout_seconds > 0 and stop_timeout_seconds > 0):
            raise ValueError(
                f"bounds of {deregistration_timeout_seconds} s and {stop_timeout_seconds} s are not allowed: "
                "each needs more than 0"
            )
        self.engine_id = engine_id
        self.model = model
        self.record = record
        self._launcher = launcher
        self._client = client
        self._unresolved = unresolved
        self._deregistration_timeout = deregistration_timeout_seconds
        self._stop_timeout = stop_timeout_seconds
        self._sleep = sleep
        self._starting = False
        self._registering: asyncio.Task[Worker] | None = None
        self._stopping: asyncio.Task[StopReport] | None = None

    @property
    def generation(self) -> EngineGeneration | None:
        """Its present life, or None while it is stopped."""
        return self.record.generation if self.record else None

    @property
    def url(self) -> str | None:
        """Where it serves, or None while it doesn't."""
        return self.record.handle.url if self.record and self.record.handle else None

    async def start(self) -> EngineGeneration:
        """Start a new generation, and register nothing; what a failed start leaves behind is stopped.

        Raises:
            EngineStateError: It runs already.
            URLUnresolvedError: The launcher used a URL that it was told to avoid.
            EngineStopError: The start failed, and what it left behind could not be stopped.
            Exception: Whatever the launcher raised.
        """
        if self.record is not None:
            raise EngineStateError(f"engine {self.engine_id} runs as {self.record.generation}: stop it first")
        generation = EngineGeneration(engine_id=self.engine_id, model=self.model)
        self.record = EngineRecord(generation=generation)
        self._starting = True
        try:
            spec = await self._launch(generation)
        except BaseException:
            self._starting = False
            await self.stop()
            raise
        self._starting = False
        self.record.handle = RegistrationHandle(router=self._client.router_url, spec=spec)
        return generation

    async def register(self, generation: EngineGeneration, *, timeout_seconds: float = 240.0) -> Worker:
        """Register a generation, and return when it is routable; after a time-out, call again to go on waiting.

        A submission without an answer is never repeated: from then on every call raises `SubmissionUnknown`, until the engine
        was stopped and started as a new generation.

        Raises:
            EngineStateError: It isn't the present generation, doesn't serve, is being registered or stopped, or an earlier
                removal of it isn't confirmed.
            OperationError: As `RouterLifecycleClient.register`.
        """
        record = self.record
        if record is None or record.generation != generation or record.handle is None:
            raise EngineStateError(f"{generation} can't be registered: running is {self.generation}")
        if self._registering is not None or self._stopping is not None:
            raise EngineStateError(f"{generation} is being registered or stopped already")
        if record.handle.url in self._unresolved.urls:
            raise EngineStateError(f"{generation} can't be registered: the removal of {self.url} isn't confirmed")
        if record.handle.phase in (Phase.REMOVED, Phase.LOST):
            record.handle = RegistrationHandle(router=record.handle.router, spec=record.handle.spec)
        self._registering = asyncio.create_task(self._client.register(record.handle, timeout=timeout_seconds))
        try:
            return await self._registering
        except asyncio.CancelledError:
            # Either this call was cancelled, or `deregister` cancelled only the registration.
            if self._registering.cancelled() and not self._is_cancelled():
                raise EngineStateError(f"{generation} was deregistered while it was being registered") from None
            raise
        finally:
            self._registering = None

    async def deregister(self) -> RouterLifecycleError | None:
        """Remove it from the router within its own limit, and let it run; a registration that is under way is cut short.

        Returns:
            Why its removal isn't confirmed, or None. Until then its URL is in the unresolved removals.
        """
        if self._registering is not None:
            self._registering.cancel()
            await asyncio.wait({self._registering})
        handle = self.record.handle if self.record else None
        if handle is None or handle.phase in (Phase.NEW, Phase.REMOVED):
            return None
        self._unresolved.add(handle)
        try:
            await self._client.remove(handle, timeout=self._deregistration_timeout)
        except RouterLifecycleError as error:
            return error
        self._unresolved.clear(handle.url)
        return None

    async def stop(self) -> StopReport | None:
        """Deregister it, then stop its processes in any case: when the router is silent, when stopping hangs, when this is cancelled.

        Several calls at once are one.

        Returns:
            What it met with, or None when it wasn't running.

        Raises:
            EngineStopError: Its processes couldn't be stopped, not even by force; call again.
        """
        if self._starting:
            raise EngineStateError(f"engine {self.engine_id} is being started: cancel that, which stops it")
        if self.record is None:
            return None
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(self.record.generation))
        return await asyncio.shield(self._stopping)

    async def is_alive(self) -> bool:
        """Return whether any of its processes runs."""
        return self.record is not None and await self._launcher.is_alive(self.record.generation)

    async def _launch(self, generation: EngineGeneration) -> WorkerSpec:
        spec = await self._launcher.start(generation, avoid_urls=self._unresolved.urls)
        if spec.url in self._unresolved.urls:
            raise URLUnresolvedError(self.engine_id, spec.url)
        return spec

    async def _stop(self, generation: EngineGeneration) -> StopReport:
        deregistration_error: BaseException | None = None
        try:
            # gather, so that no kind of failure at the router keeps the processes alive.
            (deregistration_error,) = await asyncio.gather(self.deregister(), return_exceptions=True)
        finally:
            try:
                stop_error = await self._stop_processes(generation)
            finally:
                self._stopping = None
        self.record = None
        return StopReport(generation, deregistration_error, stop_error)

    async def _stop_processes(self, generation: EngineGeneration) -> Exception | None:
        """Ask, then kill, and return why asking wasn't enough."""
        errors: list[Exception] = []
        for force in (False, True):
            (error,) = await asyncio.gather(self._stop_and_look(generation, force=force), return_exceptions=True)
            if error is None:
                return errors[0] if errors else None
            if not isinstance(error, Exception):
                raise error
            errors.append(error)
        raise EngineStopError(self.engine_id) from errors[-1]

    async def _stop_and_look(self, generation: EngineGeneration, *, force: bool) -> None:
        await within(self._stop_timeout, self._launcher.stop(generation, force=force), self._sleep)
        if await within(self._stop_timeout, self._launcher.is_alive(generation), self._sleep):
            raise EngineStateError(f"{generation} still runs after it was stopped, force={force}")

    @staticmethod
    def _is_cancelled() -> bool:
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0

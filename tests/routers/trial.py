"""One scenario against one router: clients whose requests are counted, and what was found out."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sites import Flags, Place, Site, http_client

from router_lifecycle import (
    Answer,
    HttpxTransport,
    OperationError,
    RegistrationFailed,
    RegistrationHandle,
    RemovalFailed,
    Request,
    RouterLifecycleClient,
    Worker,
    WorkerSpec,
)
from router_lifecycle.testing import FakeEngine

# 0.3.0 fails registrations and removals of live workers at random, about one in twenty; no other release may.
RESUBMISSIONS = {"0.3.0": 10}


class CountingTransport:
    """Counts what a client sends."""

    def __init__(self, trial: "Trial", url: str, api_key: str | None) -> None:
        self._trial = trial
        self._transport = HttpxTransport(url, api_key=api_key, client=http_client(url))

    async def send(self, request: Request, *, timeout_seconds: float) -> Answer:
        self._trial.requests += 1
        return await self._transport.send(request, timeout_seconds=timeout_seconds)

    async def aclose(self) -> None:
        await self._transport.aclose()


@dataclass
class Trial:
    """What a scenario is given, and what it found out.

    Attributes:
        version: The release.
        place: The router.
        found: What became of the scenario's steps, in words that are the same in every run.
        requests: How many requests the clients sent.
        seconds: How long it took.
        resubmitted: How often a registration or removal was asked for again because the router failed it without a cause.
        answers: What the router answered in plain HTTP, by what was asked; empty where nothing was.
    """

    version: str
    place: Place
    flags: Flags
    stack: AsyncExitStack
    found: list[str] = field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0
    resubmitted: int = 0
    answers: dict[str, str] = field(default_factory=dict)

    async def engine(self, **description: Any) -> FakeEngine:
        """Put up an engine that the router reaches."""
        return await self.place.engine(**description)

    async def client(self, **options: Any) -> RouterLifecycleClient:
        """Return a client of the router that has its key, closed at the end."""
        return await self._client(self.flags.api_key, **options)

    async def stranger(self, api_key: str | None) -> RouterLifecycleClient:
        """Return a client with another key, or without one."""
        return await self._client(api_key)

    async def _client(self, api_key: str | None, **options: Any) -> RouterLifecycleClient:
        timeout = self.flags.startup_timeout_seconds
        bounds = {} if timeout is None else {"worker_startup_timeout_seconds": timeout + 30.0}
        return await self.stack.enter_async_context(
            RouterLifecycleClient(
                self.place.url,
                transport=CountingTransport(self, self.place.url, api_key),
                **{**bounds, **options},
            )
        )

    async def register(self, client: RouterLifecycleClient, spec: WorkerSpec) -> Worker:
        """Register a live worker by the policy."""
        return await self._by_policy(client, spec, client.register)

    async def replace(self, client: RouterLifecycleClient, old: Worker, spec: WorkerSpec) -> Worker:
        """Put a live worker in the place of another by the policy."""
        return await self._by_policy(client, spec, partial(client.replace, old))

    async def remove(self, client: RouterLifecycleClient, worker: Worker | RegistrationHandle, **options: Any) -> None:
        """Remove a worker by the policy: a removal that the router failed is asked for again, at most so often."""
        while True:
            try:
                await client.remove(worker, **options)
            except RemovalFailed as error:
                if not self._takes_up():
                    raise
                _is_still_there(error)
            else:
                return

    def _takes_up(self) -> bool:
        """Count one more attempt, where the release may need it."""
        self.resubmitted += 1
        return self.resubmitted <= RESUBMISSIONS.get(self.version, 0)

    async def _by_policy(
        self,
        client: RouterLifecycleClient,
        spec: WorkerSpec,
        operation: Callable[[RegistrationHandle], Awaitable[Worker]],
    ) -> Worker:
        """Submit by the policy for routers that fail live workers.

        A failure that the client reports is the router's: nothing of the worker is active. So what may be left is removed, and the
        worker is submitted again with a new handle; a replacement whose removal failed goes on with the same; at most so often.
        """
        handle = RegistrationHandle(router=client.router_url, spec=spec)
        while True:
            try:
                return await operation(handle)
            except RegistrationFailed as error:
                await self._is_true(client, spec, error)
                if not self._takes_up():
                    raise
                await self.remove(client, handle)
                handle = RegistrationHandle(router=client.router_url, spec=spec)
            except RemovalFailed:
                if not self._takes_up():
                    raise

    async def _is_true(self, client: RouterLifecycleClient, spec: WorkerSpec, error: RegistrationFailed) -> None:
        """Assert that a failure is what the router says, and that it says truly whether anything is left."""
        seen = error.observation
        assert seen is not None
        assert seen.job is None or (seen.job.adds and seen.job.is_failed), error
        assert error.safe_to_resubmit is (spec.url not in await listed(client)), error


def _is_still_there(error: RemovalFailed) -> None:
    """Assert that a removal that is said to have failed left the worker where it was."""
    assert error.observation is not None
    assert error.observation.rows, error


async def listed(client: RouterLifecycleClient) -> dict[str, Worker]:
    """Return the workers that the router lists, by URL."""
    return {worker.url: worker for worker in await client.list_workers()}


async def outcome(awaitable: Any) -> str:
    """Return how an operation ended: `done`, `active`, or the name of its error."""
    try:
        result = await awaitable
    except OperationError as error:
        return type(error).__name__
    return "active" if isinstance(result, Worker) and result.is_routable else "done"


async def play(site: Site, flags: Flags, scenario: Any, bound_seconds: float) -> Trial:
    """Play a scenario, when its turn comes, and return what it found out."""
    place = await site.place(flags)
    async with AsyncExitStack() as stack:
        if not flags.alone:
            await stack.enter_async_context(site.turns)
        trial = Trial(site.version, place, flags, stack)
        began = time.monotonic()
        async with asyncio.timeout(bound_seconds):
            await scenario(trial)
        trial.seconds = time.monotonic() - began
    return trial

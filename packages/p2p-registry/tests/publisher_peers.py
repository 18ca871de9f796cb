"""What the tests of publishers work with: a clock that is moved by hand, and a registry that tells what it was sent."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import grpc.aio

from p2p_registry import MemoryBackend, RegistryService, SourceIdentity
from p2p_registry.registration import Registration
from p2p_registry.server import CHANNEL_OPTIONS, add_registry_service
from p2p_registry.wire import (
    PublishMetadataRequest,
    PublishMetadataResponse,
    SourceStatus,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)

Told = tuple[str, float | None]
"""A status and its load as the registry was sent them; "PUBLISH" for a publication."""

START = 1000.0
"""What a `ManualTime` shows at first, in seconds."""


def registration(worker_id: str = "w1") -> Registration:
    """Return the record of a source of the model `m`."""
    metadata = WorkerMetadata(worker_rank=3, agent_name="agent", metadata_endpoint="10.0.0.1:5555")
    return Registration(identity=SourceIdentity(model_name="m"), metadata=metadata, worker_id=worker_id)


class ManualTime:
    """A clock that stands still until it is moved; it may be read from any thread."""

    def __init__(self) -> None:
        self._now = START
        self._changed = asyncio.Condition()
        self._waiting_for = START

    def monotonic(self) -> float:
        return self._now

    async def wait_until(self, when: float, stopping: asyncio.Event) -> None:
        waits = {asyncio.ensure_future(self._reach(when)), asyncio.ensure_future(stopping.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def pass_to(self, seconds: float) -> None:
        """Move to the time so many seconds after the start, stopping wherever the publisher waits for a time on the way.

        Returns when it waits for a later time.
        """
        async with self._changed:
            while True:
                await self._changed.wait_for(lambda: self._waiting_for > self._now)
                if self._waiting_for > START + seconds:
                    self._now = START + seconds
                    return
                self._now = self._waiting_for
                self._changed.notify_all()

    async def _reach(self, when: float) -> None:
        async with self._changed:
            self._waiting_for = when
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._now >= when)


class RecordingRegistry(RegistryService):
    """A registry that keeps what it was sent and can be made to fail.

    Attributes:
        backend: Its store.
        told: What it was sent, in the order of arrival.
        answered: The statuses that it answered, in the order of the answers.
        publications: The publications among it, whole.
        answers: Whether heartbeats are answered; else they fail.
        hold: Where it isn't None, READY heartbeats wait for it.
        hold_goodbye: The same for those that are STALE.
    """

    def __init__(self) -> None:
        self.backend = MemoryBackend()
        super().__init__(self.backend)
        self.told: list[Told] = []
        self.answered: list[str] = []
        self.publications: list[PublishMetadataRequest] = []
        self.answers = True
        self.hold: asyncio.Event | None = None
        self.hold_goodbye: asyncio.Event | None = None
        self._more = asyncio.Condition()

    async def publish_metadata(self, request: PublishMetadataRequest) -> PublishMetadataResponse:
        self.publications.append(request)
        answer = await super().publish_metadata(request)
        await self._keep(("PUBLISH", None))
        return answer

    async def update_status(self, request: UpdateStatusRequest) -> UpdateStatusResponse:
        load = request.source_load if request.HasField("source_load") else None
        status = SourceStatus.Name(request.status).removeprefix("SOURCE_STATUS_")
        await self._keep((status, None if load is None else round(load, 5)))
        hold = self.hold if status == "READY" else self.hold_goodbye
        if hold is not None:
            await hold.wait()
        if not self.answers:
            raise RuntimeError("the registry broke down")
        answer = await super().update_status(request)
        self.answered.append(status)
        return answer

    async def wait_for(self, *told: Told) -> None:
        """Return once the last that it was sent is this."""
        async with self._more:
            await self._more.wait_for(lambda: tuple(self.told[-len(told) :]) == told)

    async def lose_everything(self) -> None:
        for summary in await self.backend.summaries(None):
            await self.backend.remove(summary.key.source_id, summary.key.worker_id, 2**62)

    async def _keep(self, told: Told) -> None:
        async with self._more:
            self.told.append(told)
            self._more.notify_all()


async def until(condition: Callable[[], bool]) -> None:
    """Return once the condition holds, for what another thread does."""
    while not condition():  # noqa: ASYNC110 - the other thread knows no event of ours
        await asyncio.sleep(0.001)


@asynccontextmanager
async def address_of(service: RegistryService, address: str = "127.0.0.1:0") -> AsyncIterator[str]:
    """Serve `service` on the loopback address."""
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    add_registry_service(service, server)
    port = server.add_insecure_port(address)
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


class HeldProvider:
    """A load provider that waits for its test.

    Attributes:
        load: What it returns.
        calls: How often it was called.
    """

    def __init__(self, load: float | None) -> None:
        self.load = load
        self.calls = 0
        self._called = threading.Semaphore(0)
        self._go = threading.Semaphore(0)

    def __call__(self) -> float | None:
        self.calls += 1
        self._called.release()
        self._go.acquire()
        return self.load

    async def called(self) -> None:
        """Return once it was called, once for each call."""
        await asyncio.to_thread(self._called.acquire)

    def go(self) -> None:
        """Let one call return."""
        self._go.release()

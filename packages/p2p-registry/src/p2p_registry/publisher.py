"""The source's side on asyncio: publishes a record, keeps it READY with its load, and says goodbye."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import grpc.aio

from p2p_registry._load_thread import LoadThread
from p2p_registry._sigterm import SigtermChain
from p2p_registry.errors import AlreadyStartedError
from p2p_registry.interfaces import PublisherClock
from p2p_registry.publishing import Answer, Publication, PublisherSettings, PublisherState, Step, load_to_send
from p2p_registry.registration import Registration
from p2p_registry.server import RegistryStub
from p2p_registry.wire import PublishMetadataResponse, SourceStatus, UpdateStatusResponse

__all__ = ["SourcePublisher", "SystemPublisherClock"]

_log = logging.getLogger(__name__)


class SystemPublisherClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    async def wait_until(self, when: float, stopping: asyncio.Event) -> None:
        """Return when the clock shows `when` or `stopping` is set."""
        with suppress(TimeoutError):
            async with asyncio.timeout(when - self.monotonic()):
                await stopping.wait()


class SourcePublisher:
    """Keeps one source listed: publishes its record, then sends READY heartbeats, each with the load that the provider tells.

    It works with any registry of this wire. Two refused heartbeats in a row mean that the registry lost the record, and it is published
    again; a registry that doesn't answer is tried again. Neither ends the publisher. The source is marked STALE by `stop`, by SIGTERM,
    and when the event loop cancels what still runs, as `asyncio.run` does at its end.

    Use it as an async context manager, or call `start` and `stop`; once.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        registration: Registration,
        *,
        provider: Callable[[], float | None] | None = None,
        settings: PublisherSettings | None = None,
        on_change: Callable[[PublisherState, str], None] | None = None,
        clock: PublisherClock | None = None,
    ) -> None:
        """Prepare; nothing is sent before `start`.

        Args:
            channel: The way to the registry; it stays the caller's, and open until after `stop`. Open it with
                `p2p_registry.server.CHANNEL_OPTIONS`.
            registration: The record.
            provider: Returns the load, from 0.0 to 1.0, or None where it isn't known. It is called on a thread of its own, shortly before
                each heartbeat, and not again while it runs. One that fails, returns something else, or takes too long leaves the load of
                that heartbeat unset; it never delays one.
            settings: Times and the like; by default those of `PublisherSettings`.
            on_change: Gets the state and its reason whenever one of them changes, on the event loop.
            clock: The time; by default the machine's.

        Raises:
            SettingError: The provider can't be called.
        """
        self._stub = RegistryStub(channel)
        self._registration = registration
        self._settings = PublisherSettings() if settings is None else settings
        self._on_change = on_change
        self._clock = SystemPublisherClock() if clock is None else clock
        self._load = None if provider is None else LoadThread(provider, self._clock.monotonic)
        self._publication = Publication(self._settings, self._clock.monotonic())
        self._told = (self._publication.state, self._publication.reason)
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._saying_goodbye = False
        self._sigterm = SigtermChain(self._on_sigterm)

    @property
    def registration(self) -> Registration:
        """The record."""
        return self._registration

    @property
    def state(self) -> PublisherState:
        """How it stands with the registry."""
        return self._publication.state

    @property
    def reason(self) -> str:
        """What the registry said last, or why it said nothing; "" before the first call."""
        return self._publication.reason

    @property
    def mx_source_id(self) -> str | None:
        """The id that the registry gave the record; None before the first publication."""
        return self._publication.mx_source_id

    async def start(self) -> None:
        """Begin to publish, and return at once: a registry that isn't there yet is no error.

        SIGTERM can be watched from the main thread only, and a handler that is installed later must call the earlier one.

        Raises:
            AlreadyStartedError: It was started or stopped before.
        """
        if self._task is not None or self._stopping.is_set():
            raise AlreadyStartedError(f"the publisher of worker {self._registration.worker_id!r}")
        self._publication = Publication(self._settings, self._clock.monotonic())
        self._loop = asyncio.get_running_loop()
        if self._settings.stale_on_sigterm and not self._sigterm.install():
            _log.info("SIGTERM isn't watched here: call stop before the process ends")
        self._task = asyncio.create_task(self._run(), name="p2p-registry-publisher")

    async def stop(self) -> None:
        """Mark the source STALE and end, within about `stop_seconds`; harmless when repeated.

        A registry that doesn't answer finds out by the missing heartbeats.
        """
        self._stopping.set()
        if self._task is None:
            return
        half = self._settings.stop_seconds / 2
        # A call under way may still take effect, so the goodbye waits for its end.
        await asyncio.wait({self._task}, timeout=half)
        if not self._saying_goodbye:
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=2 * half)

    async def __aenter__(self) -> Self:
        """Start and return this publisher."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.stop()

    async def _run(self) -> None:
        try:
            await self._keep_alive()
        finally:
            self._saying_goodbye = True
            self._sigterm.remove()
            if self._load is not None:
                self._load.close()
            self._publication.stopped(await self._say_goodbye())
            self._tell()

    async def _keep_alive(self) -> None:
        publication, clock = self._publication, self._clock
        while True:
            step, due = publication.next_step()
            if due > clock.monotonic():
                await clock.wait_until(due, self._stopping)
            if self._stopping.is_set():
                return
            if step is Step.ASK_LOAD:
                if self._load is not None:
                    self._load.ask()
                publication.load_asked()
            elif step is Step.PUBLISH:
                answer = await self._publish()
                publication.published(answer, clock.monotonic())
            else:
                reading = None if self._load is None else self._load.reading
                load = load_to_send(reading, clock.monotonic(), self._settings.max_load_age_seconds)
                answer = await self._update(SourceStatus.SOURCE_STATUS_READY, load, self._call_seconds)
                publication.beaten(answer, clock.monotonic())
            self._tell()

    @property
    def _call_seconds(self) -> float:
        return min(self._settings.call_seconds, max(1.0, self._settings.heartbeat_seconds))

    async def _publish(self) -> Answer:
        request = self._registration.publication()
        return await _answer(lambda: self._stub.PublishMetadata(request, timeout=self._call_seconds))

    async def _update(self, status: "SourceStatus.ValueType", load: float | None, seconds: float) -> Answer:
        request = self._registration.update(self._publication.mx_source_id or "", status, load)
        return await _answer(lambda: self._stub.UpdateStatus(request, timeout=seconds))

    async def _say_goodbye(self) -> str:
        if self._publication.mx_source_id is None:
            return "nothing was published"
        stale, half = SourceStatus.SOURCE_STATUS_STALE, self._settings.stop_seconds / 2
        try:
            answer = await self._update(stale, None, half)
        except asyncio.CancelledError:
            # The end of the event loop cancels calls under way, gRPC's own part of them too.
            answer = await self._update(stale, None, half)
        if answer.accepted:
            return "marked STALE"
        return f"not marked STALE, so it stays listed until its heartbeat is too old: {answer.message}"

    def _tell(self) -> None:
        publication = self._publication
        told = (publication.state, publication.reason)
        if told == self._told:
            return
        self._told = told
        bad = publication.state in {PublisherState.REFUSED, PublisherState.UNREACHABLE}
        _log.log(
            logging.WARNING if bad else logging.INFO,
            "worker %r of model %r at the registry: %s: %s",
            self._registration.worker_id,
            self._registration.identity.model_name,
            *told,
        )
        if self._on_change is not None:
            try:
                self._on_change(*told)
            except Exception:  # noqa: BLE001 - it is somebody else's, and no reason to let the source fall silent
                _log.exception("on_change failed; the publisher goes on")

    def _on_sigterm(self, done: Callable[[], None]) -> None:
        def begin() -> None:
            self._ending = self._loop.create_task(self.stop())
            # Not in a task: what the earlier handler raises, such as SystemExit, is for the event loop.
            if self._task is not None:
                self._task.add_done_callback(lambda _: done())

        try:
            self._loop.call_soon_threadsafe(begin)
        except RuntimeError:  # the loop is closed
            done()


async def _answer(call: Callable[[], Awaitable[PublishMetadataResponse | UpdateStatusResponse]]) -> Answer:
    try:
        response = await call()
    except grpc.aio.AioRpcError as error:
        return Answer(None, f"{error.code().name}: {error.details()}")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Answer(None, "the channel was closed during the call")
    except Exception as error:  # noqa: BLE001 - a closed channel, or whatever an interceptor of the caller's raises
        return Answer(None, f"{type(error).__name__}: {error}")
    source_id = response.mx_source_id if isinstance(response, PublishMetadataResponse) else ""
    return Answer(response.success, response.message, source_id)

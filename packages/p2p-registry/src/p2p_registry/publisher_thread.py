"""The source's side on a thread of its own, for engines without an event loop and for those whose loop may stand still."""

import asyncio
import atexit
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

import grpc.aio

from p2p_registry._sigterm import SigtermChain
from p2p_registry.errors import AlreadyStartedError
from p2p_registry.publisher import SourcePublisher
from p2p_registry.publishing import PublisherSettings, PublisherState
from p2p_registry.registration import Registration

__all__ = ["SourcePublisherThread"]

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 2.0


class SourcePublisherThread:
    """A `SourcePublisher` on a thread with an event loop of its own.

    Use it as a context manager, or call `start` and `stop`; once. The source is marked STALE by `stop`, by SIGTERM, and at the
    interpreter's exit. A forked child holds a publisher that doesn't run; neither its exit nor a SIGTERM to it says anything of the
    parent's source. With gRPC in the parent it needs `GRPC_ENABLE_FORK_SUPPORT=0` to live, and leaves by `os._exit`, as the
    children of multiprocessing do.
    """

    def __init__(
        self,
        open_channel: Callable[[], grpc.aio.Channel],
        registration: Registration,
        *,
        provider: Callable[[], float | None] | None = None,
        settings: PublisherSettings | None = None,
        on_change: Callable[[PublisherState, str], None] | None = None,
    ) -> None:
        """Prepare; nothing is sent before `start`.

        Args:
            open_channel: Opens the way to the registry, on the thread; it is closed there at the end.
            registration: The record.
            provider: As for `SourcePublisher`.
            settings: As for `SourcePublisher`.
            on_change: As for `SourcePublisher`, on the thread.
        """
        self._open_channel = open_channel
        self._registration = registration
        self._provider = provider
        self._settings = PublisherSettings() if settings is None else settings
        self._on_change = on_change
        self._started: Future[SourcePublisher] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._sigterm = SigtermChain(self._on_sigterm)

    @property
    def publisher(self) -> SourcePublisher:
        """The publisher on the thread, to read its state from.

        Raises:
            TimeoutError: It wasn't started.
        """
        return self._started.result(timeout=0)

    def start(self) -> None:
        """Start, and return when the thread runs: a registry that isn't there yet is no error.

        SIGTERM can be watched from the main thread only, and a handler that is installed later must call the earlier one.

        Raises:
            AlreadyStartedError: It was started before.
            Exception: Whatever `open_channel` raised.
        """
        if self._thread is not None:
            raise AlreadyStartedError(f"the publisher of worker {self._registration.worker_id!r}")
        self._thread = threading.Thread(target=self._run, name="p2p-registry-publisher", daemon=True)
        self._thread.start()
        self._started.result()
        atexit.register(self.stop)
        if self._settings.stale_on_sigterm and not self._sigterm.install():
            _log.info("SIGTERM isn't watched here: call stop before the process ends")

    def stop(self) -> None:
        """Mark the source STALE and end the thread, within about `stop_seconds`; harmless when repeated."""
        atexit.unregister(self.stop)
        self._sigterm.remove()
        # A forked child has no such thread.
        if self._thread is None or self._loop is None or not self._thread.is_alive():
            return
        with suppress(RuntimeError):  # the thread may be closing its loop at this moment
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(self._settings.stop_seconds + _GRACE_SECONDS)
        if self._thread.is_alive():
            _log.warning(
                "the publisher's thread has not ended within %g s", self._settings.stop_seconds + _GRACE_SECONDS
            )

    def __enter__(self) -> Self:
        """Start and return this publisher."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _on_sigterm(self, done: Callable[[], None]) -> None:
        self.stop()
        done()

    def _run(self) -> None:
        try:
            asyncio.run(self._publish())
        except BaseException as error:  # noqa: BLE001 - raised again where `start` waits, else logged
            if self._started.done():
                _log.exception("the publisher's thread ended: nothing is published any more")
            else:
                self._started.set_exception(error)

    async def _publish(self) -> None:
        self._loop = asyncio.get_running_loop()
        settings = replace(self._settings, stale_on_sigterm=False)
        async with (
            self._open_channel() as channel,
            SourcePublisher(
                channel, self._registration, provider=self._provider, settings=settings, on_change=self._on_change
            ) as publisher,
        ):
            self._started.set_result(publisher)
            await self._stopping.wait()

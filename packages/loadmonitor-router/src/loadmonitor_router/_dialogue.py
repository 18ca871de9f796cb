"""Our side of one stream over a link: wait for the connection, say what the session wants said, take leave."""

import contextlib
from collections.abc import Callable

from loadmonitor_router._clock import Signal
from loadmonitor_router._handshake import explain_failure
from loadmonitor_router._link import Link
from loadmonitor_router._stream import StreamLostError, StreamSession
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.errors import LoadMonitorRouterError
from loadmonitor_router.interfaces import Clock

_NS_PER_MS = 1_000_000
LEAVE_NS = 1_000 * _NS_PER_MS
"""Longest that a goodbye may take."""
_LISTEN_NS = 100 * _NS_PER_MS


class Dialogue:
    """Says what is to be said over a link, until the client is closing or the stream is lost.

    Args:
        link: The connection and its stream.
        signal: Wakes whoever waits here.
        clock: Time.
        closing: Tells whether the client is closing.
    """

    def __init__(self, link: Link, signal: Signal, clock: Clock, closing: Callable[[], bool]) -> None:
        self._link = link
        self._signal = signal
        self._clock = clock
        self._closing = closing

    async def connect(self, address: str, credentials: Credentials, timeout_ms: int) -> bool:
        """Wait for the connection; return False when the client is closing.

        Raises:
            StreamLostError: There is none in time, or the other side doesn't want it.
        """
        deadline_ns = self._clock.monotonic_ns() + timeout_ms * _NS_PER_MS
        while not await self._stands(address, credentials):
            if self._closing():
                return False
            if self._clock.monotonic_ns() >= deadline_ns:
                raise StreamLostError(f"no connection within {timeout_ms} ms")
            await self._signal.wait(deadline_ns)
        return not self._closing()

    async def _stands(self, address: str, credentials: Credentials) -> bool:
        try:
            return self._link.connected()
        except StreamLostError as error:
            loss = error
        raise await explain_failure(loss, address, credentials)

    async def hears_nothing(self) -> bool:
        """Let a Worker that wants nothing of us say so; return False when the client is closing.

        Raises:
            StreamLostError: It says so.
        """
        until_ns = self._clock.monotonic_ns() + _LISTEN_NS
        while not self._closing() and self._clock.monotonic_ns() < until_ns:
            self._link.check()
            await self._signal.wait(until_ns)
        return not self._closing()

    async def speak(self, session: StreamSession) -> None:
        """Send each frame of the session when it is due, until the client is closing.

        Raises:
            StreamLostError: The stream ended, or must begin anew.
            StreamRefusedError: The Worker refuses this router for good.
        """
        while not self._closing():
            self._link.check()
            if session.restart_reason is not None:
                raise StreamLostError(session.restart_reason)
            now_ns = self._clock.monotonic_ns()
            frame = session.next_frame(now_ns)
            if frame is None:
                await self._signal.wait(session.wake_at_ns)
            else:
                await self._link.send(frame, *session.patience(now_ns))

    async def take_leave(self) -> None:
        """Say that nothing more comes, and wait until the Worker has hung up; whatever it says then is of no interest."""
        deadline_ns = self._clock.monotonic_ns() + LEAVE_NS
        await self._link.finish(deadline_ns)
        with contextlib.suppress(LoadMonitorRouterError):
            while True:
                self._link.check()
                await self._signal.wait(deadline_ns)

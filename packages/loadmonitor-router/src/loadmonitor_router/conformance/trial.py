"""What a check has at hand: streams to the Worker under test, and what is known of it."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from loadmonitor_proto import LoadReport, RegisterResponse
from loadmonitor_router.conformance.dialling import Dialling
from loadmonitor_router.conformance.frames import DAY_MS, LONG_LEASE_MS, describe, register
from loadmonitor_router.conformance.results import Deviation
from loadmonitor_router.conformance.stream import RouterStream

QUIET_SECONDS = 0.3
"""How long to listen for what must not come."""

_SHORT_INTERVAL_MS = 50
_ATTEMPTS = 3
_EXTENSIONS = tuple(field.name for field in RegisterResponse.DESCRIPTOR.fields if field.number >= 100)


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """What a plain registration has shown.

    Attributes:
        problem: Why it failed, or None.
        told: The optional fields of the acknowledgement that are there.
        min_interval_ms: The shortest interval granted, as far as the Worker tells.
    """

    problem: str | None = None
    told: tuple[str, ...] = ()
    min_interval_ms: int = 1

    @property
    def is_extended(self) -> bool:
        """Whether the Worker is newer than the contract's first version, whose acknowledgement has no such field."""
        return bool(self.told)


def extensions_told(response: RegisterResponse) -> tuple[str, ...]:
    """Return the optional fields of an acknowledgement that are there."""
    there = {field.name for field, _ in response.ListFields()}
    return tuple(name for name in _EXTENSIONS if name in there)


def extensions_missing(response: RegisterResponse) -> tuple[str, ...]:
    """Return the optional fields of an acknowledgement that are not there."""
    there = extensions_told(response)
    return tuple(name for name in _EXTENSIONS if name not in there)


@dataclass(frozen=True, slots=True)
class Registered:
    """A stream whose registration was acknowledged.

    Attributes:
        stream: The stream.
        router_id: Whom it is registered as.
        response: The acknowledgement.
    """

    stream: RouterStream
    router_id: str
    response: RegisterResponse


class Trial:
    """One check's access to the Worker; enter before, leave to close every stream.

    Attributes:
        timeout_seconds: How long to wait for a frame that must come.
        known: What is known of the Worker.
        shut_down: Makes the Worker shut down, where somebody can.
    """

    def __init__(
        self,
        dialling: Dialling,
        timeout_seconds: float,
        known: Acquaintance,
        shut_down: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Prepare; nothing is dialled yet."""
        self._dialling = dialling
        self.timeout_seconds = timeout_seconds
        self.known = known
        self.shut_down = shut_down
        self._streams: list[RouterStream] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.hang_up()

    @property
    def short_ms(self) -> int:
        """An interval that isn't below what the Worker grants, short enough to see some reports soon."""
        return max(_SHORT_INTERVAL_MS, self.known.min_interval_ms)

    @staticmethod
    def router_id() -> str:
        """Return an id that nobody else uses."""
        return f"loadmonitor-conformance-{secrets.token_hex(8)}"

    def open(self) -> RouterStream:
        """Dial, and send nothing yet."""
        stream = RouterStream(self._dialling, max(self.timeout_seconds, 2 * self.short_ms / 1_000))
        stream.dial()
        self._streams.append(stream)
        return stream

    async def hang_up(self) -> None:
        """Close every stream, so that a Worker which serves few has room again."""
        streams, self._streams = self._streams, []
        await asyncio.gather(*(stream.close() for stream in streams))

    async def registered(
        self,
        *,
        interval_ms: int = DAY_MS,
        lease_ms: int = LONG_LEASE_MS,
        window: int | None = None,
        router_id: str | None = None,
    ) -> Registered:
        """Open a stream and register.

        Raises:
            Deviation: The first frame isn't the acknowledgement.
        """
        name = self.router_id() if router_id is None else router_id
        stream = self.open()
        await stream.send(register(name, interval_ms=interval_ms, lease_ms=lease_ms, window=window))
        frame = await stream.receive()
        if frame is None:
            _, status = await stream.ending()
            raise Deviation(f"the end of the stream with status {status.name} after a valid register")
        if not frame.HasField("registered"):
            raise Deviation(f"{describe(frame)} after a valid register")
        return Registered(stream, name, frame.registered)

    async def sample(self, count: int = 5) -> list[LoadReport]:
        """Return a new session's first reports."""
        session = await self.registered(interval_ms=self.short_ms)
        return [await session.stream.report() for _ in range(count)]

    async def best_of_three(self, attempt: Callable[[], Awaitable[str]]) -> str:
        """Return what an attempt received that went well; each begins without open streams.

        For what has an upper bound in time: a machine that stalled once isn't a fault, one that misses it always is.

        Raises:
            Deviation: Every attempt failed; this is the last one's.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return await attempt()
            except Deviation:
                await self.hang_up()
        return await attempt()

"""The Protocols that loadmonitor_router consumes."""

from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    """A callback that was scheduled and can be cancelled."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it already ran."""


class Clock(Protocol):
    """Time as the router sees it."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds on a clock that never steps; ages, leases and time-outs live on it."""

    def unix_ms(self) -> int:
        """Return milliseconds since the Unix epoch; only output for people and other programs uses it."""

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` on the running event loop once `monotonic_ns` has reached `when_ns`."""

"""The Protocols that loadmonitor_worker consumes."""

from collections.abc import Callable, Sequence
from typing import Protocol

from loadmonitor_worker.authorization import CallMetadata, PeerIdentity
from loadmonitor_worker.snapshot import RankSnapshot


class LoadSnapshotSource(Protocol):
    """Reads the engine's current load; the reporter calls it once a fire and never concurrently with itself.

    The reporter doesn't close it: whoever made a source that holds a thread or a connection closes it, after the reporter.
    """

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return the load of every rank, in any order, each stamped with the time the engine took it.

        The reporter gives a pull one second. Anything raised makes the report UNREACHABLE, with the error's text; an
        unknown rank or value is left out or raised, never invented.

        Raises:
            SourceUnavailableError: The engine's load can't be read now.
        """

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return the ranks that a complete answer holds; called before and after each pull, so it must be cheap."""


class Authorizer(Protocol):
    """Decides who may register which router_id; asked on the event loop at the first `register` of each stream."""

    def refusal(self, peer: PeerIdentity, router_id: str, metadata: CallMetadata) -> str | None:
        """Return None to let the peer register, or why not.

        The reason is logged and told to the router, with PERMISSION_DENIED: it must hold nothing secret. The session that holds
        the id is left alone. Anything raised refuses too; its text goes nowhere.
        """


class SglangManager(Protocol):
    """The part of SGLang's TokenizerManager that tells the load of its ranks."""

    @property
    def elastic_worker_count(self) -> int:
        """Number of data-parallel ranks now."""

    async def get_loads(self, include: list[str] | None = None) -> Sequence[object]:
        """Return an object per rank with the attributes of SGLang's LoadSnapshot, times in seconds."""


class TimerHandle(Protocol):
    """A callback that was scheduled and can be cancelled."""

    def cancel(self) -> None:
        """Forget the callback; harmless when it already ran."""


class Clock(Protocol):
    """Time as the reporter sees it."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds on a clock that never steps; deadlines and leases live on it."""

    def unix_ms(self) -> int:
        """Return milliseconds since the Unix epoch; only ages and report times use it."""

    def call_at(self, when_ns: int, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` on the event loop once `monotonic_ns` has reached `when_ns`."""

"""What a signal of a source's load tells, and why it may tell none."""

from dataclasses import dataclass
from enum import StrEnum


class SignalReason(StrEnum):
    """Why a signal, or all of them together, tell no load.

    A signal that measures has reasons of its own besides: UnknownReason of a port, ServingLoadReason of a metrics text, ScrapeProblem
    of the way to it.
    """

    NOT_YET = "not_yet"
    """Nothing has been measured yet."""

    WINDOW_TOO_LONG = "window_too_long"
    """The last sample of the counters was so long ago that a mean since then says nothing about now; the next one will."""

    ONE_DIRECTION = "one_direction"
    """One direction of a port can't be read, and the other moves so little that the port may be idle or full."""

    BAD_ADDRESS = "bad_address"
    """The address of the metrics that the environment gives isn't one."""

    TOO_OLD = "too_old"
    """The last reading is older than the provider's limit."""

    INVALID = "invalid"
    """The signal, or the blend, gave something else than a number from 0 to 1."""

    FAILED = "failed"
    """The signal, or the blend, raised an error, which was logged when it came for the first time."""

    NO_SIGNAL = "no_signal"
    """There is none: no NIC, no address."""

    ALL_UNKNOWN = "all_unknown"
    """No signal tells a load."""

    PARTLY_UNKNOWN = "partly_unknown"
    """The known signals are too little to tell a load, as those below 0.05 are beside a NIC that can't be seen."""


@dataclass(frozen=True, slots=True)
class SignalReading:
    """What a signal tells: exactly one of `value` and `reason` is None.

    Attributes:
        value: The load, 0 to 1.
        reason: Why `value` is None: a word for programs.
        age_seconds: How long ago it was so.
        detail: What it was measured by, or more of the reason, in words.
        final: With a `reason`: the load of the whole source is unknown, whatever other signals tell.
    """

    value: float | None
    reason: str | None
    age_seconds: float = 0.0
    detail: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True)
class UnknownSignal:
    """A signal that never tells a load, but why: what it would be measured by isn't known. A `Signal`.

    Attributes:
        reason: A word for programs.
        detail: More of it, in words.
    """

    reason: str
    detail: str = ""

    def read(self) -> SignalReading:
        """Tell the reason."""
        return SignalReading(None, self.reason, detail=self.detail)

    def close(self) -> None:
        """Nothing is held."""

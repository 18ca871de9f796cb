"""What a publisher does next, and what the answers mean; time and answers are arguments, and nothing is sent from here."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from numbers import Real

from p2p_registry.errors import SettingError

REFUSALS_TO_PUBLISH_AGAIN = 2
"""So many refused heartbeats in a row mean that the registry lost the record; modelexpress' publishers count the same."""

_HEARTBEATS_BELOW_SECONDS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings:
    """How a publisher keeps its source alive; all times are in seconds.

    Attributes:
        heartbeat_seconds: From one heartbeat to the next, above 0 and below 90, from where registries hide a source.
        retry_seconds: Pause after a publication that failed, and after a heartbeat that got no answer, above 0. A heartbeat that
            is due earlier isn't put off.
        call_seconds: Longest that a call may take, above 0; no more than `heartbeat_seconds` is used, or 1 where that is less.
        provider_seconds: How long before a heartbeat its load is asked for, 0 or above; no more than half of `heartbeat_seconds` is
            used. A load that takes longer isn't waited for.
        max_load_age_seconds: Oldest load that a heartbeat carries, counted from when it was asked for, above 0.
        stop_seconds: Longest that the end may take, above 0: half of it for a call under way, the rest for the goodbye.
        stale_on_sigterm: Say goodbye on SIGTERM, too, then hand the signal on to whatever handled it before.

    Raises:
        SettingError: A time is out of range.
    """

    heartbeat_seconds: float = 30
    retry_seconds: float = 5
    call_seconds: float = 10
    provider_seconds: float = 5
    max_load_age_seconds: float = 30
    stop_seconds: float = 5
    stale_on_sigterm: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.heartbeat_seconds < _HEARTBEATS_BELOW_SECONDS:
            raise SettingError(
                "heartbeat_seconds",
                self.heartbeat_seconds,
                f"is not allowed: more than 0 and less than {_HEARTBEATS_BELOW_SECONDS} is, because registries hide a source that is "
                "silent for so long; use 30",
            )
        for name in ("retry_seconds", "call_seconds", "max_load_age_seconds", "stop_seconds"):
            # Written so that NaN is refused.
            if not getattr(self, name) > 0:
                raise SettingError(name, getattr(self, name), "is not allowed: more than 0 is")
        if not self.provider_seconds >= 0:
            raise SettingError("provider_seconds", self.provider_seconds, "is not allowed: 0 or more is")


class PublisherState(StrEnum):
    """How a publisher stands with its registry.

    PUBLISHING: the registry doesn't have the record, as far as is known. READY: the last call was accepted. REFUSED: the last call was
    answered with a refusal. UNREACHABLE: the last call got no answer. STOPPED: the publisher ended.
    """

    PUBLISHING = "publishing"
    READY = "ready"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    STOPPED = "stopped"


class Step(Enum):
    """What a publisher does: ask for the load, publish the record, or send a heartbeat."""

    ASK_LOAD = "ask for the load"
    PUBLISH = "publish"
    BEAT = "beat"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call.

    Attributes:
        accepted: Whether the registry did what it was asked; None where it didn't answer.
        message: What it said, or why there is no answer.
        mx_source_id: The id that an accepted publication got; "" for a heartbeat.
    """

    accepted: bool | None
    message: str
    mx_source_id: str = ""


class Publication:
    """One record's life at a registry: publish, then heartbeats on a fixed beat, and publish again when the record is lost.

    Heartbeats are due at whole multiples of their interval after the publication that was accepted, whatever a call or the load took,
    and missed ones are skipped. Only answers count as refusals: a call without one neither adds to them nor takes them back.

    Attributes:
        state: How it stands with the registry.
        reason: What the registry said last, or why it said nothing; "" before the first call.
        mx_source_id: Id that the registry gave the record, kept while it is published again; None before the first publication.
    """

    def __init__(self, settings: PublisherSettings, now: float) -> None:
        """Be due for publication at `now`, in seconds of a monotonic clock."""
        self.state: PublisherState = PublisherState.PUBLISHING
        self.reason: str = ""
        self.mx_source_id: str | None = None
        self._interval = settings.heartbeat_seconds
        self._retry = settings.retry_seconds
        self._lead = min(settings.provider_seconds, self._interval / 2)
        self._publishing = True
        self._first_beat = now
        self._due = now
        self._load_asked = False
        self._refusals = 0

    def next_step(self) -> tuple[Step, float]:
        """Return the next step and when it is due, in seconds of the clock; that may be past."""
        if not self._load_asked:
            return Step.ASK_LOAD, self._due if self._publishing else self._due - self._lead
        return (Step.PUBLISH if self._publishing else Step.BEAT), self._due

    def load_asked(self) -> None:
        """The load of the next heartbeat was asked for."""
        self._load_asked = True

    def published(self, answer: Answer, now: float) -> None:
        """The publication got `answer` at `now`."""
        if answer.accepted:
            self.state, self.reason = PublisherState.PUBLISHING, answer.message
            self.mx_source_id = answer.mx_source_id
            self._publishing, self._refusals = False, 0
            self._first_beat = self._due = now
            return
        self._failed(answer)
        self._due = now + self._retry
        self._load_asked = False

    def beaten(self, answer: Answer, now: float) -> None:
        """The heartbeat got `answer` at `now`."""
        passed = (now - self._first_beat) // self._interval
        self._due = self._first_beat + (passed + 1) * self._interval
        if self._due <= now:  # rounding
            self._due += self._interval
        self._load_asked = False
        if answer.accepted:
            self.state, self.reason = PublisherState.READY, answer.message
            self._refusals = 0
            return
        self._failed(answer)
        if answer.accepted is None:
            # With the load that was asked for, if that isn't too old by then.
            self._load_asked = now + self._retry < self._due - self._lead
            self._due = min(self._due, now + self._retry)
            return
        self._refusals += 1
        if self._refusals == REFUSALS_TO_PUBLISH_AGAIN:
            self._publishing, self._due = True, now

    def stopped(self, reason: str) -> None:
        """The publisher ended."""
        self.state, self.reason = PublisherState.STOPPED, reason

    def _failed(self, answer: Answer) -> None:
        self.state = PublisherState.UNREACHABLE if answer.accepted is None else PublisherState.REFUSED
        self.reason = answer.message


@dataclass(frozen=True, slots=True)
class LoadReading:
    """What a provider said.

    Attributes:
        load: The load, from 0.0 to 1.0; None when the provider didn't know or failed.
        asked_at: When it was asked, in seconds of a monotonic clock.
    """

    load: float | None
    asked_at: float


def load_to_send(reading: LoadReading | None, now: float, max_age_seconds: float) -> float | None:
    """Return the load that a heartbeat at `now` carries: the reading's, or None where that is missing or older than allowed."""
    if reading is None or now - reading.asked_at > max_age_seconds:
        return None
    return reading.load


def checked_load(value: object) -> float | None:
    """Return what a provider returned as the load to publish: a number from 0.0 to 1.0, or None.

    A number outside measures nothing that a puller could compare, and NaN would pass for idle at some of them.

    Raises:
        OverflowError: It is a number beyond all floats.
        ValueError: It is neither.
    """
    if value is None:
        return None
    # NumPy's numbers are Real, too.
    if not isinstance(value, bool) and isinstance(value, Real):
        load = float(value)
        if 0 <= load <= 1:
            return load
    raise ValueError(f"the provider returned {value!r}: a number from 0 to 1, or None, is allowed")

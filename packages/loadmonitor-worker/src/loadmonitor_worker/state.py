"""Where an engine stands in its life, as its Worker tells it, and what waiting for it to fall idle came to."""

from dataclasses import dataclass
from enum import StrEnum

from loadmonitor_worker.errors import ConfigError


class WorkerState(StrEnum):
    """Where the engine stands in its life. A router sends new requests to a SERVING engine, and to one that doesn't say."""

    LOADING = "loading"
    """Not ready for requests yet."""
    SERVING = "serving"
    """Takes requests."""
    DRAINING = "draining"
    """Finishes what it has and takes nothing new; it goes away afterwards."""
    PAUSED = "paused"
    """Takes nothing for the moment, as while its weights are exchanged."""


def checked_state(state: str) -> WorkerState:
    """Return `state` as a WorkerState.

    Raises:
        ConfigError: It isn't one.
    """
    try:
        return WorkerState(state)
    except ValueError:
        raise ConfigError(f"worker state {state!r} is not allowed: one of {', '.join(WorkerState)} is") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleOutcome:
    """What waiting for an idle engine came to.

    Attributes:
        idle: Whether every router knew the state and the engine then had nothing to do.
        reason: What was still in the way, or None when idle.
    """

    idle: bool
    reason: str | None

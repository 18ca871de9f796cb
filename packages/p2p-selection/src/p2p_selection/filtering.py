"""Which of the listed sources a target may pull from at all, and why not from the others."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from p2p_selection.candidates import Candidate, Target

DEFAULT_MAX_AGE_MS = 90_000
"""Three heartbeats of 30 s: the registry itself calls a source stale after that."""

AcceleratorRule = Callable[[str, str], bool]
"""Tells whether a target (first) can use the weights in a source's (second) accelerator memory."""


class DropReason(StrEnum):
    """Why a target can't use an entry of a list."""

    MALFORMED = "malformed"
    """A field can't be read."""
    RANK = "rank"
    """It has another rank than the target."""
    OWN = "own"
    """It is the target itself, or an earlier process of it."""
    STATUS = "status"
    """It doesn't say READY."""
    STALE = "stale"
    """Its last heartbeat is too old, or undated."""
    ACCELERATOR = "accelerator"
    """Its accelerator's weights don't suit the target's."""


_CROSS = frozenset({"cuda", "xpu"})


def accelerators_compatible(target: str, source: str, *, plain_weights: bool = True) -> bool:
    """Tell whether weights can go from one accelerator to another, by the rule of modelexpress 0.7.0.

    What one of them doesn't say is taken for compatible. `cuda` and `xpu` exchange weights only.

    Args:
        target: The target's accelerator; "" when it doesn't say.
        source: The source's.
        plain_weights: What is pulled are weights that aren't quantised.
    """
    mine, theirs = target.strip().lower(), source.strip().lower()
    return not mine or not theirs or mine == theirs or (plain_weights and {mine, theirs} == _CROSS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """The conditions that a source must meet; `reason` says which one it doesn't.

    Attributes:
        max_age_ms: Oldest update of a record, in milliseconds; None for any. A record that doesn't tell is taken as new, one
            from the future too; an update at 0 is no update.
        accelerators: Tells whether a source's accelerator suits the target.
    """

    max_age_ms: int | None = DEFAULT_MAX_AGE_MS
    accelerators: AcceleratorRule = accelerators_compatible

    def reason(self, candidate: Candidate, target: Target, now_ms: int) -> tuple[DropReason, str] | None:
        """Return why `target` can't pull from the candidate at `now_ms`, Unix milliseconds; None when it can.

        The rank comes first and the accelerator last, so that what is left after each can be counted.
        """
        if candidate.worker_rank != target.worker_rank:
            return DropReason.RANK, f"rank {candidate.worker_rank}, the target wants {target.worker_rank}"
        if candidate.worker_id == target.worker_id:
            return DropReason.OWN, "it is the target itself"
        if candidate.endpoint and candidate.endpoint == target.endpoint:  # "" is none, as a protobuf message tells it
            return DropReason.OWN, f"its endpoint {candidate.endpoint} is the target's own: an earlier process of it"
        if candidate.status and candidate.status.upper() != "READY":
            return DropReason.STATUS, f"status {candidate.status}, not READY"
        if (age := self._age(candidate.updated_at_ms, now_ms)) is not None:
            return DropReason.STALE, age
        if not self.accelerators(target.accelerator, candidate.accelerator):
            return DropReason.ACCELERATOR, f"accelerator {candidate.accelerator} doesn't suit {target.accelerator}"
        return None

    def _age(self, updated_at_ms: int | None, now_ms: int) -> str | None:
        if self.max_age_ms is None or updated_at_ms is None:
            return None
        if updated_at_ms <= 0:
            return "no heartbeat yet"
        age_ms = now_ms - updated_at_ms
        return f"heartbeat {age_ms / 1000:.0f} s > {self.max_age_ms / 1000:g} s" if age_ms > self.max_age_ms else None

"""Who pulls, and whom it can pull from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SourceKey = tuple[str, str, int]
"""What tells a source from all others: its `mx_source_id`, `worker_id` and `worker_rank`."""

UNKNOWN_LOAD = 0.5
"""What a load that nobody knows counts as: between measured idle and full. modelexpress 0.7.0 has the same prior."""


@dataclass(frozen=True, slots=True)
class Target:
    """The process that is going to pull weights.

    Attributes:
        model_name: Name of the model it wants, as its sources publish it.
        worker_id: Its own id; one process, one id.
        worker_rank: Its rank, which is the rank of the shard it wants; 0 or above.
        endpoint: Where others reach it, `host:port`, or None; a source at the same endpoint is an earlier life of itself.
        accelerator: What it runs on, such as `cuda`; "" when it doesn't say.
        topology: Where it is, by level (`zone`, `rack`, ...).
    """

    model_name: str
    worker_id: str
    worker_rank: int
    endpoint: str | None = None
    accelerator: str = ""
    topology: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source that a target can pull from, as the registry lists it.

    Nothing is checked here: the list is another process's data, and one odd entry must not cost a target the others.

    Attributes:
        mx_source_id: Id of the source identity, shared by all processes that serve the same weights the same way.
        worker_id: Id of the serving process.
        worker_rank: Its rank; 0 or above.
        source_load: How busy the source says it is, from 0.0 (measured idle) to 1.0 (full); None when it doesn't say.
        topology: Where it is, by level (`zone`, `rack`, ...).
        updated_at_ms: When its record was last updated, Unix milliseconds by the registry's clock; None when not told.
        endpoint: Where it serves its metadata or weights, `host:port`, or None when not told.
        accelerator: What it runs on, such as `cuda`; "" when it doesn't say.
        status: What the registry calls it, such as `READY`; "" when not told.
    """

    mx_source_id: str
    worker_id: str
    worker_rank: int
    source_load: float | None = None
    topology: Mapping[str, str] = field(default_factory=dict, hash=False)
    updated_at_ms: int | None = None
    endpoint: str | None = None
    accelerator: str = ""
    status: str = ""

    @property
    def key(self) -> SourceKey:
        """What tells it from all other sources."""
        return self.mx_source_id, self.worker_id, self.worker_rank


def known_load(source_load: float | None) -> float | None:
    """Return a load as policies use it: 0.0 to 1.0, or None for unknown.

    Finite values are clamped, and +Inf is full. NaN and -Inf measure nothing, so they are unknown; they never pass for idle.
    """
    if source_load is None or not source_load > float("-inf"):
        return None
    return min(1.0, max(0.0, source_load))

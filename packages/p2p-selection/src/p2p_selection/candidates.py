"""Who pulls, and whom it can pull from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """The process that is going to pull weights.

    Attributes:
        model_name: Name of the model it wants, as its sources publish it.
        worker_id: Its own id; one process, one id.
        worker_rank: Its rank, which is the rank of the shard it wants; 0 or above.
    """

    model_name: str
    worker_id: str
    worker_rank: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A source that a target can pull from, as the registry lists it.

    Nothing is checked here: the list is another process's data, and one odd entry must not cost a target the others.

    Attributes:
        mx_source_id: Id of the source identity, shared by all processes that serve the same weights the same way.
        worker_id: Id of the serving process.
        worker_rank: Its rank; 0 or above.
        source_load: How busy the source says it is, from 0.0 (measured idle) to 1.0 (full); None when it doesn't say.
    """

    mx_source_id: str
    worker_id: str
    worker_rank: int
    source_load: float | None = None

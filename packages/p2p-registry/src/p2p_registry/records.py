"""What the registry keeps of a worker, as values that every backend stores and returns unchanged."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum


class SourceStatus(IntEnum):
    """State of a worker as a source; the numbers are those of the wire."""

    UNKNOWN = 0
    """It was never told."""
    INITIALIZING = 1
    """It exists and isn't ready to be pulled from."""
    READY = 2
    """It can be pulled from, as long as its heartbeats go on."""
    STALE = 3
    """It fell silent, or said that it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerKey:
    """Where a record is kept.

    Attributes:
        source_id: The `mx_source_id` that the worker was published under.
        worker_id: Id of the worker; a restarted process has a new one.
        worker_rank: Rank that the worker published as; a worker may publish several.
    """

    source_id: str
    worker_id: str
    worker_rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """The small part of a record, replaced as a whole by every status update.

    Attributes:
        status: State of the worker.
        updated_at_ms: Milliseconds since the Unix epoch, on the clock of the replica that took the update.
        source_load: What the source said of its load, untouched; None where it said nothing, which isn't 0.
    """

    status: SourceStatus
    updated_at_ms: int
    source_load: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSummary:
    """What a listing shows of a record.

    Attributes:
        key: Where the record is kept.
        state: Its latest state.
        model_name: Name of the model, as published.
        accelerator: Kind of accelerator, as published; "" where the worker named none.
        topology: Where the worker runs, by level.
        training_step: Step of the training run that the weights are of; None where the identity names none.
        layout_signature: Digest of the tensors' layout; None where the identity names none.
    """

    key: WorkerKey
    state: WorkerState
    model_name: str
    accelerator: str
    topology: Mapping[str, str]
    training_step: int | None
    layout_signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodReference:
    """The Kubernetes pod of a worker.

    Attributes:
        name: Its name.
        uid: Its own id; a pod of the same name made later has another.
        namespace: Its namespace.
    """

    name: str
    uid: str
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """Everything that a worker published, up to about 1 MB.

    Attributes:
        summary: What listings show, with the latest state.
        identity: The `SourceIdentity` message, serialised.
        metadata: The `WorkerMetadata` message, serialised; its status and time are those of the publication, so `summary.state`
            counts.
        pod: The pod that published it, where it said so. Only a store that pods' ends are known to looks at it, when the record is
            published, and none returns it.
    """

    summary: WorkerSummary
    identity: bytes
    metadata: bytes
    pod: PodReference | None = None


def training_step_of(extra_parameters: Mapping[str, str]) -> int | None:
    """Return the training step that an identity's extra parameters name, as modelexpress' server reads it.

    It is `training_step`, or `version` where there is none: a decimal number below 2**64. Anything else is no step.
    """
    text = extra_parameters.get("training_step", extra_parameters.get("version", ""))
    if not re.fullmatch(r"[+]?[0-9]{1,64}", text):
        return None
    step = int(text)
    return step if step < 2**64 else None


def layout_signature_of(extra_parameters: Mapping[str, str]) -> str | None:
    """Return the layout signature that an identity's extra parameters name, or None."""
    return extra_parameters.get("layout_signature") or None

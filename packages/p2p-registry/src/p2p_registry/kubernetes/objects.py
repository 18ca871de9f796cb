"""Records as custom resources, and back. Nothing here asks an API server.

A worker's object has in `status.worker` what the worker published last and that rank's state, as modelexpress' server writes it.
States of ranks that the worker published before stand in `status.earlierRanks`: nobody can ask for their metadata any more, but
they keep the worker alive.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from google.protobuf import json_format

from p2p_registry.errors import BackendError, RecordRefusedError
from p2p_registry.identity import SourceType
from p2p_registry.kubernetes.merging import difference
from p2p_registry.kubernetes.names import (
    API_VERSION,
    IDENTITY_ANNOTATION,
    KIND,
    RANK_LABEL,
    SOURCE_LABEL,
    WORKER_ANNOTATION,
    WORKER_LABEL,
    config_map_name,
    ids_of,
    is_plain,
    object_name,
)
from p2p_registry.kubernetes.states import ready_condition, state_fields, state_of, time_text
from p2p_registry.kubernetes.workers import tensor_data, worker_fields, worker_of
from p2p_registry.records import (
    WorkerKey,
    WorkerRecord,
    WorkerState,
    WorkerSummary,
    layout_signature_of,
    training_step_of,
)
from p2p_registry.wire import SourceIdentity, WorkerMetadata

Object: TypeAlias = dict[str, Any]
"""An object of Kubernetes, as JSON has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEntry:
    """What a listing and a status update need of a worker's object: the small part of it.

    Attributes:
        name: The object's name.
        uid: The object's own id; one of the same name made later has another.
        version: Its resource version.
        summary: The last published rank; None where the object is made and its publication isn't complete.
        earlier: States of the ranks that were published before, by rank.
        ready: The condition Ready as it stands.
    """

    name: str
    uid: str
    version: int
    summary: WorkerSummary | None
    earlier: Mapping[int, WorkerState]
    ready: Mapping[str, Any] | None

    def states(self) -> Iterator[tuple[int, WorkerState]]:
        """Yield each rank with its state."""
        if self.summary is not None:
            current = self.summary.key.worker_rank
            yield current, self.summary.state
            # modelexpress' server publishes an earlier rank anew without taking it out of these.
            yield from ((rank, state) for rank, state in self.earlier.items() if rank != current)


def entry_of(found: Mapping[str, Any]) -> WorkerEntry | None:
    """Return the entry of an object, or None where it is no worker's, or can't be read as one."""
    try:
        metadata, status = found["metadata"], found.get("status") or {}
        ids = ids_of(metadata["name"], (metadata.get("annotations") or {}).get(WORKER_ANNOTATION))
        if ids is None:
            return None
        worker = status.get("worker")
        conditions = [each for each in status.get("conditions") or () if each.get("type") == "Ready"]
        return WorkerEntry(
            name=metadata["name"],
            uid=metadata["uid"],
            version=int(metadata["resourceVersion"]),
            summary=None if worker is None else _summary(*ids, worker, _identity(found)),
            earlier={int(rank): state_of(fields) for rank, fields in (status.get("earlierRanks") or {}).items()},
            ready=conditions[0] if conditions else None,
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def record_of(found: Mapping[str, Any], tensors: Mapping[str, str] | None) -> WorkerRecord:
    """Return the record of an object that has an entry with a summary.

    Args:
        found: The object.
        tensors: Content of the ConfigMap that it names; None where it names none.

    Raises:
        BackendError: It can't be read.
    """
    entry = entry_of(found)
    assert entry is not None
    assert entry.summary is not None
    try:
        metadata = worker_of(found["status"]["worker"], tensors)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BackendError(f"object {entry.name} can't be read: {type(error).__name__}: {error}") from error
    return WorkerRecord(
        summary=entry.summary, identity=_identity(found).SerializeToString(), metadata=metadata.SerializeToString()
    )


def new_object(record: WorkerRecord) -> Object:
    """Return a worker's object as it is made: without a status, which an API server takes at another address only.

    Raises:
        RecordRefusedError: The source id is none that `mx_source_id` gives.
    """
    key, identity = record.summary.key, SourceIdentity.FromString(record.identity)
    name = object_name(key.source_id, key.worker_id)
    if name is None:
        raise RecordRefusedError(f"source id {key.source_id!r} can't be stored: 16 hexadecimal digits can")
    labels = {SOURCE_LABEL: key.source_id}
    annotations = {IDENTITY_ANNOTATION: json_format.MessageToJson(identity, indent=None, ensure_ascii=False)}
    if is_plain(key.worker_id):
        labels[WORKER_LABEL] = key.worker_id
    else:
        annotations[WORKER_ANNOTATION] = key.worker_id
    metadata: Object = {"name": name, "labels": labels, "annotations": annotations}
    if record.pod is not None:
        # Not blocking: that takes a right on the pod where owner references are guarded.
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": record.pod.name, "uid": record.pod.uid}
        ]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"modelName": record.summary.model_name, "sourceType": _source_type_name(identity.mx_source_type)},
    }


def tensors_config_map(record: WorkerRecord, owner: Mapping[str, Any]) -> Object | None:
    """Return the ConfigMap of a record's tensors, which goes with its owner, the worker's object; None without tensors."""
    data = tensor_data(WorkerMetadata.FromString(record.metadata))
    if data is None:
        return None
    key, metadata = record.summary.key, owner["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": config_map_name(metadata["name"], key.worker_rank),
            "labels": {SOURCE_LABEL: key.source_id, RANK_LABEL: str(key.worker_rank)},
            "ownerReferences": [
                {"apiVersion": API_VERSION, "kind": KIND, "name": metadata["name"], "uid": metadata["uid"]}
            ],
        },
        "data": data,
    }


def publication_patch(record: WorkerRecord, found: Mapping[str, Any], config_map: str | None) -> Object:
    """Return the status patch that puts a record in place of what `found` holds; refused once `found` has changed.

    Raises:
        RecordRefusedError: The record can't be stored.
    """
    entry = entry_of(found)  # None where somebody left a status that can't be read; it is replaced
    rank, state = record.summary.key.worker_rank, record.summary.state
    before = () if entry is None else entry.states()
    earlier = {str(r): _without_none(state_fields(s)) for r, s in before if r != rank}
    worker = worker_fields(WorkerMetadata.FromString(record.metadata), config_map)
    wanted = {
        "worker": worker | _without_none(state_fields(state)),
        "earlierRanks": earlier,
        "conditions": [ready_condition(state, None if entry is None else entry.ready)],
        "publishedAt": time_text(state.updated_at_ms),
        "observedGeneration": found["metadata"].get("generation", 0),
    }
    status = found.get("status") or {}
    patch = difference({key: status[key] for key in wanted if key in status}, wanted)
    return _status_patch(found["metadata"]["resourceVersion"], patch)


def states_patch(entry: WorkerEntry, states: Mapping[int, WorkerState]) -> Object:
    """Return the status patch that replaces the states of ranks that the entry has; refused once its object has changed."""
    assert entry.summary is not None
    status: Object = {}
    for rank, state in states.items():
        if rank == entry.summary.key.worker_rank:
            status["worker"] = state_fields(state)
            ready = ready_condition(state, entry.ready)
            if entry.ready is None or ready["reason"] != entry.ready.get("reason"):
                status["conditions"] = [ready]
        else:
            status.setdefault("earlierRanks", {})[str(rank)] = state_fields(state)
    return _status_patch(str(entry.version), status)


def _status_patch(version: str, status: Object) -> Object:
    return {"metadata": {"resourceVersion": version}, "status": status}


def _summary(source_id: str, worker_id: str, worker: Mapping[str, Any], identity: SourceIdentity) -> WorkerSummary:
    return WorkerSummary(
        key=WorkerKey(source_id=source_id, worker_id=worker_id, worker_rank=int(worker["workerRank"])),
        state=state_of(worker),
        model_name=identity.model_name,
        accelerator=worker.get("accelerator") or "",
        topology=dict(worker.get("topology") or {}),
        training_step=training_step_of(identity.extra_parameters),
        layout_signature=layout_signature_of(identity.extra_parameters),
    )


def _identity(found: Mapping[str, Any]) -> SourceIdentity:
    """Return the identity as it was published; of an object that modelexpress' server made, the little that it holds."""
    text = (found["metadata"].get("annotations") or {}).get(IDENTITY_ANNOTATION)
    try:
        if text is not None:
            return json_format.Parse(text, SourceIdentity(), ignore_unknown_fields=True)
        spec = found["spec"]
        known = {"modelName": spec["modelName"], "mxSourceType": f"MX_SOURCE_TYPE_{spec.get('sourceType', '').upper()}"}
        return json_format.ParseDict(known, SourceIdentity(), ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise ValueError(str(error)) from error


def _source_type_name(number: int) -> str:
    return SourceType(number).name.lower() if number in SourceType.__members__.values() else "unknown"


def _without_none(fields: Mapping[str, Any]) -> Object:
    return {key: value for key, value in fields.items() if value is not None}

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from p2p_registry.errors import BackendError as BackendError, RecordRefusedError as RecordRefusedError
from p2p_registry.identity import SourceType as SourceType
from p2p_registry.kubernetes.merging import difference as difference
from p2p_registry.kubernetes.names import API_VERSION as API_VERSION, IDENTITY_ANNOTATION as IDENTITY_ANNOTATION, KIND as KIND, RANK_LABEL as RANK_LABEL, SOURCE_LABEL as SOURCE_LABEL, WORKER_ANNOTATION as WORKER_ANNOTATION, WORKER_LABEL as WORKER_LABEL, config_map_name as config_map_name, ids_of as ids_of, is_plain as is_plain, object_name as object_name
from p2p_registry.kubernetes.states import ready_condition as ready_condition, state_fields as state_fields, state_of as state_of, time_text as time_text
from p2p_registry.kubernetes.workers import tensor_data as tensor_data, worker_fields as worker_fields, worker_of as worker_of
from p2p_registry.records import WorkerKey as WorkerKey, WorkerRecord as WorkerRecord, WorkerState as WorkerState, WorkerSummary as WorkerSummary, layout_signature_of as layout_signature_of, training_step_of as training_step_of
from p2p_registry.wire import SourceIdentity as SourceIdentity, WorkerMetadata as WorkerMetadata
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEntry:
    name: str
    uid: str
    version: int
    summary: WorkerSummary | None
    earlier: Mapping[int, WorkerState]
    ready: Mapping[str, Any] | None
    def states(self) -> Iterator[tuple[int, WorkerState]]: ...

def entry_of(found: Mapping[str, Any]) -> WorkerEntry | None: ...
def record_of(found: Mapping[str, Any], tensors: Mapping[str, str] | None) -> WorkerRecord: ...
def new_object(record: WorkerRecord) -> Object: ...
def tensors_config_map(record: WorkerRecord, owner: Mapping[str, Any]) -> Object | None: ...
def publication_patch(record: WorkerRecord, found: Mapping[str, Any], config_map: str | None) -> Object: ...
def states_patch(entry: WorkerEntry, states: Mapping[int, WorkerState]) -> Object: ...

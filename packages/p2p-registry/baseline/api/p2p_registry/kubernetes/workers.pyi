from collections.abc import Mapping
from p2p_registry.errors import RecordRefusedError as RecordRefusedError
from p2p_registry.wire import ArtifactSourceMetadata as ArtifactSourceMetadata, TensorDescriptor as TensorDescriptor, TensorSourceMetadata as TensorSourceMetadata, WorkerMetadata as WorkerMetadata
from typing import Any, Final

TENSORS_KEY: Final[str]

def worker_fields(worker: WorkerMetadata, config_map: str | None) -> dict[str, Any]: ...
def tensor_data(worker: WorkerMetadata) -> dict[str, Any] | None: ...
def worker_of(fields: Mapping[str, Any], tensors: Mapping[str, str] | None) -> WorkerMetadata: ...

"""What a worker published as fields of its object, its tensors as the content of a ConfigMap, and back."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from p2p_registry.errors import RecordRefusedError
from p2p_registry.wire import ArtifactSourceMetadata, TensorDescriptor, TensorSourceMetadata, WorkerMetadata

TENSORS_KEY: Final = "tensors.json"
_FIELD_KEY = "field"
_DEPRECATED_FIELD = "tensors"
_INT64_MAX = 2**63 - 1
_TEXTS = {
    "metadataEndpoint": "metadata_endpoint",
    "agentName": "agent_name",
    "workerGrpcEndpoint": "worker_grpc_endpoint",
    "accelerator": "accelerator",
}


def worker_fields(worker: WorkerMetadata, config_map: str | None) -> dict[str, Any]:
    """Return the fields of `status.worker` that a publication sets, without those of its state.

    Args:
        worker: What was published.
        config_map: Name of the ConfigMap with its tensors; None where it has none.

    Raises:
        RecordRefusedError: A number is larger than Kubernetes' integers.
    """
    fields: dict[str, Any] = {"workerRank": worker.worker_rank, "backendType": "none"}
    kind = worker.WhichOneof("backend_metadata")
    if kind == "nixl_metadata":
        fields |= {"backendType": "nixl", "nixlMetadata": base64.b64encode(worker.nixl_metadata).decode()}
    elif kind == "transfer_engine_session_id":
        fields |= {"backendType": "transfer_engine", "transferEngineSessionId": worker.transfer_engine_session_id}
    fields |= {key: value for key, name in _TEXTS.items() if (value := getattr(worker, name))}
    if worker.topology:
        fields["topology"] = dict(worker.topology)
    if config_map is not None:
        fields["tensorConfigMap"] = config_map
    if config_map is not None or worker.HasField("tensor_source"):
        fields["tensorCount"] = len(_tensors(worker))
    if worker.HasField("artifact_source"):
        fields["artifactSource"] = _artifact_fields(worker.artifact_source)
    return fields


def tensor_data(worker: WorkerMetadata) -> dict[str, Any] | None:
    """Return the content of the ConfigMap with the worker's tensors, or None where it has none; None in it deletes a key."""
    tensors = _tensors(worker)
    if not tensors:
        return None
    rows = [
        # As texts, because JSON's numbers are doubles to many a reader.
        {"name": t.name, "addr": str(t.addr), "size": str(t.size), "device_id": t.device_id, "dtype": t.dtype}
        for t in tensors
    ]
    return {
        TENSORS_KEY: json.dumps(rows, separators=(",", ":"), ensure_ascii=False),
        _FIELD_KEY: _DEPRECATED_FIELD if worker.tensors else None,
    }


def worker_of(fields: Mapping[str, Any], tensors: Mapping[str, str] | None) -> WorkerMetadata:
    """Return what these fields of `status.worker` tell, with the tensors of its ConfigMap.

    Raises:
        ValueError, KeyError, TypeError: They make no sense.
    """
    worker = WorkerMetadata(worker_rank=int(fields["workerRank"]), topology=fields.get("topology") or {})
    for key, name in _TEXTS.items():
        setattr(worker, name, fields.get(key) or "")
    session = fields.get("transferEngineSessionId")
    # Records from before there was a type have only its metadata.
    kind = fields.get("backendType") or (
        "transfer_engine" if session else "nixl" if fields.get("nixlMetadata") else "none"
    )
    if kind == "nixl":
        worker.nixl_metadata = base64.b64decode(fields.get("nixlMetadata") or "", validate=True)
    elif kind == "transfer_engine":
        worker.transfer_engine_session_id = session or ""
    if (artifact := fields.get("artifactSource")) is not None:
        worker.artifact_source.CopyFrom(_artifact_of(artifact))
    elif tensors is not None:
        rows = [_tensor_of(row) for row in json.loads(tensors[TENSORS_KEY])]
        if tensors.get(_FIELD_KEY) == _DEPRECATED_FIELD:
            worker.tensors.extend(rows)
        else:
            worker.tensor_source.tensors.extend(rows)
    elif fields.get("tensorCount") == 0:
        worker.tensor_source.CopyFrom(TensorSourceMetadata())
    return worker


def _tensors(worker: WorkerMetadata) -> list[TensorDescriptor]:
    return list(worker.tensors) or list(worker.tensor_source.tensors)


def _tensor_of(row: Mapping[str, Any]) -> TensorDescriptor:
    return TensorDescriptor(
        name=row["name"],
        addr=int(row["addr"]),
        size=int(row["size"]),
        device_id=row["device_id"],
        dtype=row["dtype"],
    )


def _artifact_fields(artifact: ArtifactSourceMetadata) -> dict[str, Any]:
    if artifact.total_size > _INT64_MAX:
        raise RecordRefusedError(
            f"artifact_source.total_size={artifact.total_size} can't be stored: Kubernetes' integers end at {_INT64_MAX}"
        )
    return {
        "artifactId": artifact.artifact_id,
        "totalSize": artifact.total_size,
        "fileCount": artifact.file_count,
        "chunkCount": artifact.chunk_count,
        "nodeRank": artifact.node_rank,
    }


def _artifact_of(fields: Mapping[str, Any]) -> ArtifactSourceMetadata:
    return ArtifactSourceMetadata(
        artifact_id=fields["artifactId"],
        total_size=fields["totalSize"],
        file_count=fields["fileCount"],
        chunk_count=fields["chunkCount"],
        node_rank=fields.get("nodeRank", 0),
    )

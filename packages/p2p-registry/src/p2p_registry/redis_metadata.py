"""A `WorkerMetadata` message as members of the JSON object that modelexpress' Rust server keeps in Redis, and back."""

import base64
from collections.abc import Mapping
from typing import Any

from google.protobuf.message import Message

from p2p_registry.wire import ArtifactSourceMetadata, TensorDescriptor, TensorSourceMetadata, WorkerMetadata

_TEXTS = ("metadata_endpoint", "agent_name", "worker_grpc_endpoint", "accelerator")
_CARRIED = ("worker_rank", "nixl_metadata", "transfer_engine_session_id", "topology", "artifact_source", *_TEXTS)
_BACKEND_TYPES = {"nixl_metadata": "nixl", "transfer_engine_session_id": "transfer_engine", None: "none"}


def metadata_members(metadata: bytes) -> dict[str, object]:
    """Return the members for a serialised message.

    What they have no place for goes into `p2p_registry_rest`: which of its two fields had the tensors, the
    status and time that the worker gave, and fields of newer releases.
    """
    worker = WorkerMetadata.FromString(metadata)
    rest = WorkerMetadata.FromString(metadata)
    carried: Message = rest
    for name in _CARRIED:
        carried.ClearField(name)
    tensors = []
    if worker.HasField("tensor_source"):
        tensors = list(worker.tensor_source.tensors)
        del rest.tensor_source.tensors[:]
    elif not worker.HasField("artifact_source"):
        tensors = list(worker.tensors)
        del rest.tensors[:]
    backend = worker.WhichOneof("backend_metadata")
    return {
        "worker_rank": worker.worker_rank,
        "backend_type": _BACKEND_TYPES[backend],
        "nixl_metadata": list(worker.nixl_metadata),
        "transfer_engine_session_id": worker.transfer_engine_session_id
        if backend == "transfer_engine_session_id"
        else None,
        "tensors": [_tensor_members(tensor) for tensor in tensors],
        **{name: getattr(worker, name) for name in _TEXTS},
        "topology": dict(worker.topology),
        "artifact_source": _artifact_members(worker.artifact_source) if worker.HasField("artifact_source") else None,
        "p2p_registry_rest": base64.b64encode(rest.SerializeToString()).decode(),
    }


def metadata_of(members: Mapping[str, Any]) -> bytes:
    """Return the serialised message for the members.

    Where `p2p_registry_rest` is absent, tensors stand in both of the message's fields for them, as the Rust server answers.
    """
    rest = members.get("p2p_registry_rest")
    worker = WorkerMetadata.FromString(base64.b64decode(rest or ""))
    if rest is None:
        worker.status = members.get("status", 0)
        worker.updated_at = members.get("updated_at", 0)
    worker.worker_rank = members["worker_rank"]
    for name in _TEXTS:
        setattr(worker, name, members.get(name, ""))
    worker.topology.update(members.get("topology", {}))
    _put_backend(worker, members)
    artifact = members.get("artifact_source")
    tensors = [
        TensorDescriptor(**{**tensor, "addr": int(tensor["addr"]), "size": int(tensor["size"])})
        for tensor in members["tensors"]
    ]
    if artifact is not None:
        worker.artifact_source.CopyFrom(
            ArtifactSourceMetadata(**{**artifact, "total_size": int(artifact["total_size"])}),
        )
    elif rest is None:
        worker.tensors.extend(tensors)
        worker.tensor_source.CopyFrom(TensorSourceMetadata(tensors=tensors))
    elif worker.HasField("tensor_source"):
        worker.tensor_source.tensors.extend(tensors)
    else:
        worker.tensors.extend(tensors)
    return worker.SerializeToString()


def _put_backend(worker: WorkerMetadata, members: Mapping[str, Any]) -> None:
    kind, nixl, session = (members.get(n) for n in ("backend_type", "nixl_metadata", "transfer_engine_session_id"))
    # Records from before `backend_type` say by what is there which of the two is meant.
    if kind == "transfer_engine" or (kind is None and session):
        worker.transfer_engine_session_id = session or ""
    elif kind == "nixl" or (kind is None and nixl):
        worker.nixl_metadata = bytes(nixl or ())


def _tensor_members(tensor: TensorDescriptor) -> dict[str, object]:
    # 64-bit numbers as text: a reader that has doubles only would round them.
    return {
        "name": tensor.name,
        "addr": str(tensor.addr),
        "size": str(tensor.size),
        "device_id": tensor.device_id,
        "dtype": tensor.dtype,
    }


def _artifact_members(artifact: ArtifactSourceMetadata) -> dict[str, object]:
    return {
        "artifact_id": artifact.artifact_id,
        "total_size": str(artifact.total_size),
        "file_count": artifact.file_count,
        "chunk_count": artifact.chunk_count,
        "node_rank": artifact.node_rank,
    }

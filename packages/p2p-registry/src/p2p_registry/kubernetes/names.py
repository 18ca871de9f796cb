"""What objects and their parts are called: modelexpress' custom resource, so that its server and this one share a store."""

import hashlib
import re
from typing import Final

GROUP: Final = "modelexpress.nvidia.com"
VERSION: Final = "v1alpha1"
KIND: Final = "ModelMetadata"
PLURAL: Final = "modelmetadatas"
API_VERSION: Final = f"{GROUP}/{VERSION}"

SOURCE_LABEL: Final = f"{GROUP}/mx-source-id"
WORKER_LABEL: Final = f"{GROUP}/mx-worker-id"
RANK_LABEL: Final = f"{GROUP}/worker"
"""On the ConfigMap of a rank's tensors."""

# This project's own; annotations, because a schema drops none.
IDENTITY_ANNOTATION: Final = "p2p-registry/identity"
"""The identity as published, as JSON: the resource itself has but the model's name and the kind of source."""
WORKER_ANNOTATION: Final = "p2p-registry/worker-id"
"""The id of a worker that no name and no label can hold."""

_SOURCE_ID = re.compile(r"[0-9a-f]{16}")
_DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_PLAIN_ID = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_PLAIN_ID_LENGTH = 63  # as long as a label's value may be
_NAME = re.compile(r"mx-source-([0-9a-f]{16})-(.+)")


def object_name(source_id: str, worker_id: str) -> str | None:
    """Return the name of a worker's object, or None where the source id is none that `mx_source_id` gives.

    A worker id that a name can't hold is represented by its SHA-256 in hex: longer than any id that is taken as it is, so two
    workers never share a name.
    """
    if not _SOURCE_ID.fullmatch(source_id):
        return None
    return (
        f"mx-source-{source_id}-{worker_id if is_plain(worker_id) else hashlib.sha256(worker_id.encode()).hexdigest()}"
    )


def is_plain(worker_id: str) -> bool:
    """Tell whether names and labels hold this worker id as it is."""
    return len(worker_id) <= _PLAIN_ID_LENGTH and _PLAIN_ID.fullmatch(worker_id) is not None


def ids_of(name: str, annotated_worker_id: str | None) -> tuple[str, str] | None:
    """Return source and worker id of the object with this name, or None where it isn't a worker's."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    worker_id = match[2] if annotated_worker_id is None else annotated_worker_id
    return (match[1], worker_id) if object_name(match[1], worker_id) == name else None


def config_map_name(name: str, worker_rank: int) -> str:
    """Return the name of the ConfigMap with the tensors of one rank of the worker whose object is `name`."""
    return f"{name}-tensors-worker-{worker_rank}"

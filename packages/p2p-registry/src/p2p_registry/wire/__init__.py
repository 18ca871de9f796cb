"""The messages of `model_express.p2p.P2pService`, in a descriptor pool of their own.

A process that also holds modelexpress' own copy of these messages has no conflict; the price is that messages cross between the two
as bytes, never by `CopyFrom`. Here are only the messages that the registry serves, not those that workers serve to each other.
"""

from p2p_registry.wire.registry_pb2 import (
    DESCRIPTOR,
    POOL,
    ArtifactSourceMetadata,
    GetMetadataRequest,
    GetMetadataResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PublishMetadataRequest,
    PublishMetadataResponse,
    SourceIdentity,
    SourceInstanceRef,
    SourceStatus,
    TensorDescriptor,
    TensorSourceMetadata,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)

__all__ = [
    "DESCRIPTOR",
    "POOL",
    "ArtifactSourceMetadata",
    "GetMetadataRequest",
    "GetMetadataResponse",
    "ListSourcesRequest",
    "ListSourcesResponse",
    "PublishMetadataRequest",
    "PublishMetadataResponse",
    "SourceIdentity",
    "SourceInstanceRef",
    "SourceStatus",
    "TensorDescriptor",
    "TensorSourceMetadata",
    "UpdateStatusRequest",
    "UpdateStatusResponse",
    "WorkerMetadata",
]

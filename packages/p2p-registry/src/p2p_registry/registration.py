"""What a source publishes of itself."""

import os
from dataclasses import dataclass, field, fields

from p2p_registry.errors import InvalidIdentityError
from p2p_registry.identity import SourceIdentity
from p2p_registry.source_id import mx_source_id
from p2p_registry.wire import PublishMetadataRequest, SourceStatus, UpdateStatusRequest, WorkerMetadata
from p2p_registry.wire import SourceIdentity as WireIdentity


def new_worker_id() -> str:
    """Return an id for this life of a process: 8 random hexadecimal digits, as modelexpress' workers have them."""
    return os.urandom(4).hex()


def wire_identity(identity: SourceIdentity) -> WireIdentity:
    """Return the wire's message of `identity`.

    Raises:
        InvalidIdentityError: It is the wire's message already, or something else.
    """
    if not isinstance(identity, SourceIdentity):
        raise InvalidIdentityError(
            f"identity is a {type(identity).__module__}.{type(identity).__qualname__}: "
            "a p2p_registry.SourceIdentity is allowed, not the wire's message"
        )
    return WireIdentity(**{f.name: getattr(identity, f.name) for f in fields(identity)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A source's record, the same at each publication.

    Attributes:
        identity: What the source serves; it must name a model.
        metadata: How to pull from it, copied. `worker_rank` must be unique among the processes that share the identity, so with
            several pipeline stages it isn't the tensor-parallel rank. `status` and `updated_at` aren't looked at.
        worker_id: Id of the process; one life of a process, one id, so that pullers notice a restart.
        pod_name: Name of the Kubernetes pod, which a store there makes the record's owner; "" outside of one.
        pod_uid: Its uid.
        pod_namespace: Its namespace.

    Raises:
        InvalidIdentityError: The identity names no model, or is the wire's message of the same name.
    """

    identity: SourceIdentity
    metadata: WorkerMetadata = field(hash=False)
    worker_id: str = field(default_factory=new_worker_id)
    pod_name: str = ""
    pod_uid: str = ""
    pod_namespace: str = ""

    def __post_init__(self) -> None:
        # What has no message or no id can't be published.
        wire_identity(self.identity)
        mx_source_id(self.identity)
        copy = WorkerMetadata()
        copy.CopyFrom(self.metadata)
        # A record is never published without a state, and pullers don't see it before the first heartbeat with its load.
        copy.status = SourceStatus.SOURCE_STATUS_INITIALIZING
        object.__setattr__(self, "metadata", copy)

    def publication(self) -> PublishMetadataRequest:
        """Return the request that publishes the record."""
        return PublishMetadataRequest(
            identity=wire_identity(self.identity),
            worker=self.metadata,
            worker_id=self.worker_id,
            pod_name=self.pod_name,
            pod_uid=self.pod_uid,
            pod_namespace=self.pod_namespace,
        )

    def update(self, mx_source_id: str, status: "SourceStatus.ValueType", load: float | None) -> UpdateStatusRequest:
        """Return the request that tells the record's state; a load of None leaves the field unset."""
        return UpdateStatusRequest(
            mx_source_id=mx_source_id,
            worker_id=self.worker_id,
            worker_rank=self.metadata.worker_rank,
            status=status,
            source_load=load,
        )

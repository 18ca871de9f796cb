"""The registry itself: requests in, answers out, everything it knows in the store."""

import logging
import time
from collections.abc import Callable
from dataclasses import fields

from p2p_registry.errors import BackendError, InvalidIdentityError, RecordRefusedError
from p2p_registry.identity import SourceIdentity
from p2p_registry.interfaces import Backend, UpdateOutcome
from p2p_registry.listing import ListingFilter, select
from p2p_registry.reaper import Reaped, reap
from p2p_registry.records import (
    PodReference,
    SourceStatus,
    WorkerKey,
    WorkerRecord,
    WorkerState,
    WorkerSummary,
    layout_signature_of,
    training_step_of,
)
from p2p_registry.source_id import mx_source_id
from p2p_registry.wire import (
    GetMetadataRequest,
    GetMetadataResponse,
    ListSourcesRequest,
    ListSourcesResponse,
    PublishMetadataRequest,
    PublishMetadataResponse,
    SourceInstanceRef,
    UpdateStatusRequest,
    UpdateStatusResponse,
    WorkerMetadata,
)
from p2p_registry.wire import SourceIdentity as WireIdentity
from p2p_registry.wire import SourceStatus as WireStatus

_log = logging.getLogger(__name__)
_LOG_EVERY_MS = 30_000


def system_clock_ms() -> int:
    """Return the milliseconds since the Unix epoch on this machine's clock."""
    return time.time_ns() // 1_000_000


class RegistryService:
    """Answers the four methods of `model_express.p2p.P2pService`; all state is the backend's, so replicas are alike.

    A refusal is an answer, as modelexpress' clients expect: `success` or `found` is false, a list is empty. That holds for a store
    that fails, too; it is logged, for each method at most once in half a minute.

    `source_load` is passed on as it came, whatever its value, and never looked at. Every status update replaces it, and one without
    it clears it; so does a publication.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        now_ms: Callable[[], int] = system_clock_ms,
        refuse_invalid_load: bool = False,
        store_failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve what `backend` holds.

        Args:
            backend: The store.
            now_ms: The service's clock, in milliseconds since the Unix epoch; it stamps every publication and update. Clocks of
                replicas on one store must agree within seconds.
            refuse_invalid_load: Answer `success=false` to an update whose load is set and isn't from 0 to 1. Two such answers make
                a publisher of modelexpress publish its record again, each time, so this is for finding a faulty source.
            store_failed: Is called before a request is answered for which the store failed.
        """
        self._backend = backend
        self._now_ms = now_ms
        self._refuse_invalid_load = refuse_invalid_load
        self._store_failed = store_failed
        self._logged_at_ms: dict[str, int] = {}

    async def publish_metadata(self, request: PublishMetadataRequest) -> PublishMetadataResponse:
        """Store a worker's record, in place of an earlier one of the same worker and rank."""
        if not request.HasField("identity"):
            return PublishMetadataResponse(message="identity is required")
        if not request.worker_id:
            return PublishMetadataResponse(message="worker_id is required")
        if not request.HasField("worker"):
            return PublishMetadataResponse(message="worker is required")
        status = _status(request.worker.status)
        if status is None:
            return PublishMetadataResponse(message=_status_refusal(request.worker.status))
        try:
            source_id = mx_source_id(_identity(request.identity))
        except InvalidIdentityError as error:
            return PublishMetadataResponse(message=f"identity.model_name is required: {error}")
        worker = request.worker
        record = WorkerRecord(
            summary=WorkerSummary(
                key=WorkerKey(source_id=source_id, worker_id=request.worker_id, worker_rank=worker.worker_rank),
                state=WorkerState(status=status, updated_at_ms=self._now_ms(), source_load=None),
                model_name=request.identity.model_name,
                accelerator=worker.accelerator,
                topology=dict(worker.topology),
                training_step=training_step_of(request.identity.extra_parameters),
                layout_signature=layout_signature_of(request.identity.extra_parameters),
            ),
            identity=request.identity.SerializeToString(),
            metadata=worker.SerializeToString(),
            pod=_pod(request),
        )
        try:
            await self._backend.publish(record)
        except RecordRefusedError as error:
            _log.warning("worker %r of source %s is refused: %s", request.worker_id, source_id, error)
            return PublishMetadataResponse(message=str(error))
        except BackendError as error:
            self._failed("worker %r of source %s wasn't stored: %s", request.worker_id, source_id, error)
            return PublishMetadataResponse(message=f"the store failed: {error}")
        return PublishMetadataResponse(
            success=True,
            message=f"stored worker {request.worker_id!r}, rank {worker.worker_rank}, of source {source_id}",
            mx_source_id=source_id,
            worker_id=request.worker_id,
        )

    async def update_status(self, request: UpdateStatusRequest) -> UpdateStatusResponse:
        """Take a heartbeat: status and load as the request has them, the time from the service's clock.

        One that the store ignores, because another replica stored a later one, is answered as a success.
        """
        if not request.mx_source_id:
            return UpdateStatusResponse(message="mx_source_id is required")
        if not request.worker_id:
            return UpdateStatusResponse(message="worker_id is required")
        status = _status(request.status)
        if status is None:
            return UpdateStatusResponse(message=_status_refusal(request.status))
        load = request.source_load if request.HasField("source_load") else None
        # Written so that NaN is refused.
        if self._refuse_invalid_load and load is not None and not 0 <= load <= 1:
            return UpdateStatusResponse(message=f"source_load={load} is not allowed: a number from 0 to 1, or none, is")
        key = WorkerKey(source_id=request.mx_source_id, worker_id=request.worker_id, worker_rank=request.worker_rank)
        state = WorkerState(status=status, updated_at_ms=self._now_ms(), source_load=load)
        where = f"worker {key.worker_id!r}, rank {key.worker_rank}, of source {key.source_id!r}"
        try:
            outcome = await self._backend.update_state(key, state)
        except BackendError as error:
            self._failed("the heartbeat of %s wasn't stored: %s", where, error)
            return UpdateStatusResponse(message=f"the store failed: {error}")
        if outcome is UpdateOutcome.NOT_REGISTERED:
            return UpdateStatusResponse(message=f"{where} is not registered: publish its metadata first")
        return UpdateStatusResponse(success=True, message=f"updated {where}")

    async def list_sources(self, request: ListSourcesRequest) -> ListSourcesResponse:
        """List one entry for each worker that the request's filters let through, newest first.

        An identity without a model name doesn't filter, nor does a status that this version doesn't know.
        """
        source_id = None
        if request.identity.model_name:
            source_id = mx_source_id(_identity(request.identity))
        try:
            summaries = await self._backend.summaries(source_id)
        except BackendError as error:
            self._failed("sources can't be listed: %s", error)
            return ListSourcesResponse()
        wanted = ListingFilter(
            status=_status(request.status_filter) if request.HasField("status_filter") else None,
            model_name=request.model_name_filter if request.HasField("model_name_filter") else None,
            worker_rank=request.worker_rank_filter if request.HasField("worker_rank_filter") else None,
            min_training_step=request.min_training_step if request.HasField("min_training_step") else None,
            min_updated_at_ms=request.min_updated_at if request.HasField("min_updated_at") else None,
            limit=request.limit if request.HasField("limit") else None,
        )
        return ListSourcesResponse(instances=map(_reference, select(summaries, wanted, self._now_ms())))

    async def get_metadata(self, request: GetMetadataRequest) -> GetMetadataResponse:
        """Return the record of a worker's last published rank, with its latest status and time."""
        try:
            record = await self._backend.get(request.mx_source_id, request.worker_id)
        except BackendError as error:
            self._failed("worker %r of source %r can't be read: %s", request.worker_id, request.mx_source_id, error)
            record = None
        if record is None:
            return GetMetadataResponse(mx_source_id=request.mx_source_id, worker_id=request.worker_id)
        worker = WorkerMetadata.FromString(record.metadata)
        state = record.summary.state
        worker.status = WireStatus.Value(f"SOURCE_STATUS_{state.status.name}")
        worker.updated_at = state.updated_at_ms
        return GetMetadataResponse(
            found=True,
            worker=worker,
            mx_source_id=request.mx_source_id,
            worker_id=request.worker_id,
            identity=WireIdentity.FromString(record.identity),
        )

    async def reap(self) -> Reaped:
        """Mark and remove silent workers once; see `reap`.

        Raises:
            BackendError: The store failed.
        """
        return await reap(self._backend, self._now_ms())

    def _failed(self, message: str, *arguments: object) -> None:
        self._store_failed()
        now_ms = self._now_ms()
        # Thousands of clients may ask while a store is gone. A clock that is set back makes it speak again, too.
        recent = abs(now_ms - self._logged_at_ms.get(message, now_ms - _LOG_EVERY_MS)) < _LOG_EVERY_MS
        _log.log(logging.DEBUG if recent else logging.WARNING, message, *arguments)
        if not recent:
            self._logged_at_ms[message] = now_ms


def _identity(message: WireIdentity) -> SourceIdentity:
    return SourceIdentity(**{field.name: getattr(message, field.name) for field in fields(SourceIdentity)})


def _pod(request: PublishMetadataRequest) -> PodReference | None:
    if not (request.pod_name and request.pod_uid and request.pod_namespace):
        return None
    return PodReference(name=request.pod_name, uid=request.pod_uid, namespace=request.pod_namespace)


def _status(number: int) -> SourceStatus | None:
    return SourceStatus(number) if number in SourceStatus.__members__.values() else None


def _status_refusal(number: int) -> str:
    return f"invalid status value: {number}; {', '.join(f'{s.value} ({s.name})' for s in SourceStatus)} are allowed"


def _reference(summary: WorkerSummary) -> SourceInstanceRef:
    return SourceInstanceRef(
        mx_source_id=summary.key.source_id,
        worker_id=summary.key.worker_id,
        model_name=summary.model_name,
        worker_rank=summary.key.worker_rank,
        accelerator=summary.accelerator,
        updated_at=summary.state.updated_at_ms,
        topology=summary.topology or None,  # an empty map would take as long as all the rest
        training_step=summary.training_step,
        layout_signature=summary.layout_signature,
        source_load=summary.state.source_load,
    )

"""Asks a registry for all of its workers, those that it hides from pullers too."""

import asyncio
import math
from dataclasses import dataclass

import grpc.aio

from p2p_registry._health import HEALTH, HealthCheckRequest, HealthCheckResponse, ServingStatus
from p2p_registry.cli._connecting import RegistryFlags
from p2p_registry.errors import RegistryUnreachableError
from p2p_registry.listing import CLOCKS_AGREE_MS, HEARTBEAT_TIMEOUT_MS
from p2p_registry.records import SourceStatus
from p2p_registry.server import SERVICE_NAME, RegistryStub
from p2p_registry.service import system_clock_ms
from p2p_registry.wire import ListSourcesRequest, SourceInstanceRef
from p2p_registry.wire import SourceStatus as WireStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One worker, as it is shown.

    Attributes:
        reference: What the registry lists.
        status: Its status there, or None where that isn't known.
        load: Its load where that is a number, else None.
        note: What is to be said of it, or "".
    """

    reference: SourceInstanceRef
    status: SourceStatus | None
    load: float | None
    note: str

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from all others."""
        return self.reference.mx_source_id, self.reference.worker_id, self.reference.worker_rank


class Look:
    """Asks a registry for all of its workers."""

    def __init__(self, flags: RegistryFlags, model: str | None, rank: int | None, timeout_seconds: float) -> None:
        self._flags = flags
        self._model = model
        self._rank = rank
        self._timeout_seconds = timeout_seconds

    def open(self) -> grpc.aio.Channel:
        """Return a channel to the registry."""
        return self._flags.open_channel()

    async def rows(self, channel: grpc.aio.Channel) -> list[Row]:
        """Return the workers, in the order of model, rank and id.

        An entry of a listing doesn't tell its status, so each status is asked for. Who is in none of these lists, and old, was
        hidden from the READY one; who isn't old changed meanwhile, or the store failed, which an empty list doesn't tell.

        Raises:
            RegistryUnreachableError: A call failed.
        """
        stub = RegistryStub(channel)
        wanted = [ListSourcesRequest(status_filter=WireStatus.Value(f"SOURCE_STATUS_{s.name}")) for s in SourceStatus]
        try:
            everyone = await stub.ListSources(ListSourcesRequest(), timeout=self._timeout_seconds)
            calls = [stub.ListSources(request, timeout=self._timeout_seconds) for request in wanted]
            by_status = await asyncio.gather(*calls)
        except grpc.aio.AioRpcError as error:
            raise RegistryUnreachableError(
                f"the registry at {self._flags.address()} can't be asked: {error.code().name}: {error.details()}"
            ) from None
        statuses = {
            _key(reference): status
            for status, answer in zip(SourceStatus, by_status, strict=True)
            for reference in answer.instances
        }
        rows = [
            _row(reference, statuses.get(_key(reference)))
            for reference in everyone.instances
            if self._model in {None, reference.model_name} and self._rank in {None, reference.worker_rank}
        ]
        return sorted(rows, key=lambda row: (row.reference.model_name, row.reference.worker_rank, row.key))

    async def fault(self, channel: grpc.aio.Channel) -> str | None:
        """Return why a registry that lists nothing may know more than that, or None; one that can't tell counts as well."""
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{HEALTH}/Check")
        asked = HealthCheckRequest(service=SERVICE_NAME).SerializeToString()
        try:
            status = HealthCheckResponse.FromString(await check(asked, timeout=self._timeout_seconds)).status
        except grpc.aio.AioRpcError:
            return None
        return "the registry's store doesn't answer" if status == ServingStatus.NOT_SERVING else None


def _key(reference: SourceInstanceRef) -> tuple[str, str, int]:
    return reference.mx_source_id, reference.worker_id, reference.worker_rank


def _row(reference: SourceInstanceRef, status: SourceStatus | None) -> Row:
    load, notes = None, []
    if not reference.HasField("source_load"):
        notes.append("load unknown: the worker doesn't tell one")
    elif not math.isfinite(reference.source_load):
        notes.append(f"load unknown: the worker tells {reference.source_load}")
    else:
        load = reference.source_load
        if not 0 <= load <= 1:
            notes.append("its load isn't from 0 to 1")
    if status is None and system_clock_ms() - reference.updated_at > HEARTBEAT_TIMEOUT_MS:
        status = SourceStatus.READY
        notes.insert(0, "its last heartbeat is too old: pullers aren't shown it")
    elif status is None and reference.updated_at - system_clock_ms() > CLOCKS_AGREE_MS:
        status = SourceStatus.READY
        notes.insert(0, "its last heartbeat is of a time to come, by a clock that was ahead: pullers aren't shown it")
    elif status is None:
        notes.insert(0, "status unknown: look again")
    return Row(reference=reference, status=status, load=load, note="; ".join(notes))

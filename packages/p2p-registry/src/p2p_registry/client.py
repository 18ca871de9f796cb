"""The puller's side: which sources there are, and the metadata of one."""

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import grpc.aio

from p2p_registry.errors import RegistryUnreachableError, SettingError, SourceGoneError
from p2p_registry.identity import SourceIdentity
from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS
from p2p_registry.registration import wire_identity
from p2p_registry.server import RegistryStub
from p2p_registry.service import system_clock_ms
from p2p_registry.wire import GetMetadataRequest, ListSourcesRequest, SourceInstanceRef, SourceStatus, WorkerMetadata

__all__ = ["ListedSource", "Listing", "RegistryClient", "SourceRef"]

_Answer = TypeVar("_Answer")


class SourceRef(Protocol):
    """What a source is asked for by: a `ListedSource`, or what a selector made of it, such as p2p-selection's `Candidate`."""

    @property
    def mx_source_id(self) -> str:
        """Id of the source identity."""

    @property
    def worker_id(self) -> str:
        """Id of the serving process."""

    @property
    def worker_rank(self) -> int:
        """Its rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSource:
    """A READY source; the names are those that p2p-selection's `Candidate` has, too.

    Attributes:
        mx_source_id: Id of the source identity.
        worker_id: Id of the serving process.
        worker_rank: Its rank.
        source_load: What the source said of its load, unchecked; None where it said nothing, which isn't 0.
        topology: Where it is, by level.
        updated_at_ms: When its record was last updated, in Unix milliseconds by the registry's clock.
        accelerator: What it runs on; "" where it doesn't say.
        model_name: Name of its model.
        training_step: Step of the training run that its weights are of, or None.
        layout_signature: Digest of its tensors' layout, or None.
    """

    mx_source_id: str
    worker_id: str
    worker_rank: int
    source_load: float | None
    topology: Mapping[str, str] = field(hash=False)
    updated_at_ms: int
    accelerator: str
    model_name: str
    training_step: int | None
    layout_signature: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a registry answered.

    Attributes:
        sources: The fresh READY sources, in the registry's order: newest first.
        hidden: Workers of the identity that aren't among them because they aren't READY or their heartbeat is old. Only asked for
            when there is no source: None otherwise.
        silent: Those of them whose heartbeat is old, so that they died or hang; the others aren't READY yet, or said goodbye. None
            where `hidden` is.
    """

    sources: tuple[ListedSource, ...]
    hidden: int | None
    silent: int | None


class RegistryClient:
    """A puller's typed view of any `model_express.p2p.P2pService`, this package's or modelexpress' own.

    A registry whose store fails lists nothing, so no source doesn't prove that there is none.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        *,
        timeout_seconds: float = 30,
        now_ms: Callable[[], int] = system_clock_ms,
    ) -> None:
        """Use `channel`, which stays the caller's; open it with `p2p_registry.server.CHANNEL_OPTIONS`.

        Args:
            channel: The way to the registry.
            timeout_seconds: Longest that a call may take, above 0.
            now_ms: This machine's clock, in milliseconds since the Unix epoch; ages are taken by it.

        Raises:
            SettingError: The time isn't above 0.
        """
        if not 0 < timeout_seconds < math.inf:
            raise SettingError("timeout_seconds", timeout_seconds, "is not allowed: a number above 0 is")
        self._stub = RegistryStub(channel)
        self._timeout_seconds = timeout_seconds
        self._now_ms = now_ms

    async def list_sources(self, identity: SourceIdentity) -> Listing:
        """List the READY sources of `identity`, or of every identity when that names no model.

        A registry may be of a version that lists sources with an old heartbeat; they are left out here, too. One whose time is in
        the future is kept, because clocks differ.

        Raises:
            InvalidIdentityError: The identity is the wire's message.
            RegistryUnreachableError: The call failed.
        """
        wire = wire_identity(identity)
        ready = await self._list(ListSourcesRequest(identity=wire, status_filter=SourceStatus.SOURCE_STATUS_READY))
        oldest_ms = self._now_ms() - HEARTBEAT_TIMEOUT_MS
        sources = tuple(_listed(reference) for reference in ready if reference.updated_at >= oldest_ms)
        if sources:
            return Listing(sources=sources, hidden=None, silent=None)
        everyone = await self._list(ListSourcesRequest(identity=wire))
        silent = sum(reference.updated_at < oldest_ms for reference in everyone)
        return Listing(sources=(), hidden=len(everyone), silent=silent)

    async def metadata(self, source: SourceRef) -> WorkerMetadata:
        """Return what `source` published.

        An answer that names another process is no answer: the source was replaced since it was listed. One that names none, as
        older registries give it, counts.

        Raises:
            SourceGoneError: The source isn't registered any more or has said goodbye, or the answer is of another process or rank.
                The next source may do.
            RegistryUnreachableError: The call failed.
        """
        request = GetMetadataRequest(mx_source_id=source.mx_source_id, worker_id=source.worker_id)
        answer = await _called(self._stub.GetMetadata(request, timeout=self._timeout_seconds))
        where = f"worker {source.worker_id!r} of source {source.mx_source_id!r}"
        if not answer.found:
            raise SourceGoneError(f"{where} isn't registered any more: try the next source, or list again")
        for asked, told in ((source.worker_id, answer.worker_id), (source.mx_source_id, answer.mx_source_id)):
            if told not in {"", asked}:
                raise SourceGoneError(f"asked for {where}, the registry answered with {told!r}: try the next source")
        rank = answer.worker.worker_rank
        if rank != source.worker_rank:
            raise SourceGoneError(f"{where} is of rank {rank} now, not {source.worker_rank}: try the next source")
        if answer.worker.status == SourceStatus.SOURCE_STATUS_STALE:
            raise SourceGoneError(f"{where} is STALE by now: try the next source")
        return answer.worker

    async def _list(self, request: ListSourcesRequest) -> list[SourceInstanceRef]:
        answer = await _called(self._stub.ListSources(request, timeout=self._timeout_seconds))
        return list(answer.instances)


async def _called(call: Awaitable[_Answer]) -> _Answer:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise RegistryUnreachableError(
            f"the registry's answer was {error.code().name}: {error.details()}; check its address and that it runs"
        ) from error


def _listed(reference: SourceInstanceRef) -> ListedSource:
    return ListedSource(
        mx_source_id=reference.mx_source_id,
        worker_id=reference.worker_id,
        worker_rank=reference.worker_rank,
        source_load=reference.source_load if reference.HasField("source_load") else None,
        topology=dict(reference.topology),
        updated_at_ms=reference.updated_at,
        accelerator=reference.accelerator,
        model_name=reference.model_name,
        training_step=reference.training_step if reference.HasField("training_step") else None,
        layout_signature=reference.layout_signature if reference.HasField("layout_signature") else None,
    )

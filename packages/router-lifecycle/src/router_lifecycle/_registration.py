"""The first steps of a registration: look, and submit once."""

from router_lifecycle._activation import check_type
from router_lifecycle._link import Link
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle.dialects import Created, CreatedKind, read_created
from router_lifecycle.errors import (
    AlreadyRegistered,
    AuthenticationError,
    CreateInProgress,
    NotSent,
    OperationError,
    RouterUnsupported,
    SubmissionRejected,
    SubmissionUnknown,
    TransportError,
)
from router_lifecycle.handle import Phase, RegistrationHandle
from router_lifecycle.models import Worker
from router_lifecycle.observation import Observation

_REFUSALS: dict[CreatedKind, type[OperationError]] = {
    CreatedKind.REJECTED: SubmissionRejected,
    CreatedKind.EXISTS: AlreadyRegistered,
    CreatedKind.IN_PROGRESS: CreateInProgress,
    CreatedKind.UNAUTHORIZED: AuthenticationError,
}


class Registrar:
    """Submits over a link."""

    def __init__(self, link: Link) -> None:
        """Take the link."""
        self._link = link

    async def look_before(self, operation: Operation, handle: RegistrationHandle) -> Observation:
        """Return what the router has under the URL before anything is submitted, once that can be read.

        Raises:
            NotSent: It could not be read before the deadline.
        """

        async def look() -> Looked[Observation]:
            seen = await self._link.look(operation, handle.url, None)
            return Looked(seen if seen.rows is not None else None, seen.retry_after_seconds)

        seen = await self._link.poll(look, operation)
        if seen is None:
            raise operation.error(
                NotSent, "the router's workers could not be read, so nothing was submitted", safe_to_resubmit=True
            )
        return seen

    async def submit(self, operation: Operation, handle: RegistrationHandle, before: Observation) -> None:
        """Send the one POST of a handle and read its answer; the handle says `submission_unknown` while that is going on."""
        dialect = self._link.spoken()
        if dialect is None:
            raise operation.error(NotSent, "the router changed while it was being asked", safe_to_resubmit=True)
        if handle.phase is not Phase.NEW:
            raise operation.error(SubmissionUnknown, "another call has submitted this handle meanwhile")
        self.check_can_submit(operation, handle)
        handle.listed_before = bool(before.rows)
        handle.job_before = before.job
        handle.submitted_at_unix_seconds = self._link.unix_now()
        handle.phase = Phase.SUBMISSION_UNKNOWN
        if dialect.finds_by_url:
            handle.worker_id = handle.url
        self._link.tell(operation, "submitting", f"dialect {dialect.name}")
        try:
            answer = await self._link.send(
                dialect.create(handle.spec), operation, waits=dialect.name == "sync", any_status=True
            )
        except TransportError as error:
            if error.maybe_sent:
                raise operation.error(SubmissionUnknown, f"the answer was lost ({error})") from error
            self.unsubmitted(handle)
            raise operation.error(NotSent, f"no connection ({error})", safe_to_resubmit=True) from error
        self._take(operation, handle, read_created(answer, handle.url, dialect.name))

    def check_can_submit(self, operation: Operation, handle: RegistrationHandle) -> None:
        """Raise what a submission would, before anything is sent or removed for it.

        Raises:
            NotSent: A dump has left out the worker's own key.
            RouterUnsupported: The router can't be told this spec.
        """
        if handle.lacks_key:
            raise operation.error(
                NotSent,
                "a dump of this handle has left out the worker's own key: give it back (`with_key`); nothing was sent",
                safe_to_resubmit=True,
            )
        dialect = self._link.spoken()
        is_plain = handle.spec.worker_type == "regular" and handle.spec.api_key is None
        if dialect is not None and dialect.name == "sync" and not is_plain:
            raise operation.error(
                RouterUnsupported,
                "this router only has /add_worker, which takes a URL and nothing else: "
                f"worker_type={handle.spec.worker_type!r} and a worker's key can't be told to it; nothing was sent",
                safe_to_resubmit=True,
            )

    def _take(self, operation: Operation, handle: RegistrationHandle, created: Created) -> None:
        """Bring the handle up to date with the answer, or raise what it says."""
        if created.kind is CreatedKind.ACCEPTED:
            handle.worker_id, handle.dialect, handle.phase = created.worker_id, created.dialect, Phase.ACCEPTED
            spoken = self._link.spoken()
            if spoken is not None and created.dialect not in ("sync", spoken.name):
                self._link.forget_dialect()
            self._link.tell(operation, "accepted", f"id {created.worker_id}, dialect {created.dialect}")
            return
        if created.kind is CreatedKind.UNKNOWN:
            handle.worker_id = created.worker_id or handle.worker_id
            raise operation.error(SubmissionUnknown, created.reason)
        self.unsubmitted(handle)
        operation.worker_id = created.worker_id
        safe = created.kind in (CreatedKind.REJECTED, CreatedKind.UNAUTHORIZED)
        if created.kind is CreatedKind.REJECTED:
            self._link.forget_dialect()
        raise operation.error(_REFUSALS[created.kind], created.reason, safe_to_resubmit=safe)

    @staticmethod
    def unsubmitted(handle: RegistrationHandle) -> None:
        """Take back that something was submitted: certainly nothing was accepted."""
        handle.phase, handle.worker_id, handle.dialect = Phase.NEW, None, None
        handle.submitted_at_unix_seconds = None
        handle.row_seen, handle.failure = False, None

    def adopt(
        self, operation: Operation, handle: RegistrationHandle, worker_id: str | None, before: Observation
    ) -> None:
        """Let the handle stand for what somebody else submitted.

        Raises:
            IdentityConflict: The router has it as another type than the handle's spec asks for.
        """
        if before.rows:
            check_type(operation, handle, Worker(router=handle.router, url=handle.url, rows=before.rows))
        spoken = self._link.spoken()
        handle.phase, handle.listed_before, handle.row_seen = Phase.ACCEPTED, False, bool(before.rows)
        handle.dialect = spoken.name if spoken is not None else None
        ranked = bool(before.rows) and before.rows is not None and before.rows[0].rank is not None
        handle.worker_id = None if ranked else worker_id
        self._link.tell(operation, "adopted", str(before))

"""The steps of a registration: look, submit once, look until the outcome is certain."""

from router_lifecycle._link import Link
from router_lifecycle._machine_register import (
    RegisterFacts,
    RegisterMachine,
    RegisterSign,
    RegisterState,
    foreign_entry,
    register_sign,
)
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle._probe_moments import seconds_to_next
from router_lifecycle.dialects import Created, CreatedKind, read_created
from router_lifecycle.errors import (
    AlreadyRegistered,
    AuthenticationError,
    CreateInProgress,
    IdentityConflict,
    NotSent,
    OperationError,
    OperationTimeout,
    RegistrationFailed,
    RegistrationLost,
    RouterUnsupported,
    SubmissionRejected,
    SubmissionUnknown,
    TransportError,
)
from router_lifecycle.handle import Phase, RegistrationHandle
from router_lifecycle.models import Worker
from router_lifecycle.observation import Observation

_LOOKS_PER_RECORD = 3
_KNOWN_TYPES = ("regular", "prefill", "decode")
_REFUSALS: dict[CreatedKind, type[OperationError]] = {
    CreatedKind.REJECTED: SubmissionRejected,
    CreatedKind.EXISTS: AlreadyRegistered,
    CreatedKind.IN_PROGRESS: CreateInProgress,
    CreatedKind.UNAUTHORIZED: AuthenticationError,
}


class Registrar:
    """Carries out registrations over a link."""

    def __init__(self, link: Link, *, horizon_seconds: float) -> None:
        """Take the link, and the age from which a router can't be working on a submission any more."""
        self._link = link
        self._horizon = horizon_seconds

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
        if dialect.name == "sync" and (handle.spec.worker_type != "regular" or handle.spec.api_key is not None):
            raise operation.error(
                RouterUnsupported,
                "this router only has /add_worker, which takes a URL and nothing else: "
                f"worker_type={handle.spec.worker_type!r} and a worker's key can't be told to it; nothing was sent",
                safe_to_resubmit=True,
            )
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
            self.check_type(operation, handle, Worker(router=handle.router, url=handle.url, rows=before.rows))
        spoken = self._link.spoken()
        handle.phase, handle.listed_before, handle.row_seen = Phase.ACCEPTED, False, bool(before.rows)
        handle.dialect = spoken.name if spoken is not None else None
        ranked = bool(before.rows) and before.rows is not None and before.rows[0].rank is not None
        handle.worker_id = None if ranked else worker_id
        self._link.tell(operation, "adopted", str(before))

    async def wait(self, operation: Operation, handle: RegistrationHandle) -> Worker:
        """Look until the outcome of an accepted submission is certain."""
        machine = self.machine(handle)
        looks = 0

        async def look() -> Looked[Observation]:
            nonlocal looks
            looks += 1
            if machine.sign is RegisterSign.PENDING and looks % _LOOKS_PER_RECORD != 1:
                # What is pending shows in the list once it is active; whether it failed may be asked less often.
                listed = await self._link.read_all(operation)
                if listed.value is not None and all(row.base_url != handle.url for row in listed.value):
                    return Looked(None, listed.retry_after_seconds)
            seen, sign = await self.see(operation, handle)
            if sign is None:
                return Looked(None, seen.retry_after_seconds)
            state = machine.see(sign, self._link.now())
            self._link.tell(operation, state if state.is_end else sign, str(seen))
            return Looked(seen if state.is_end else None, seen.retry_after_seconds)

        seen = await self._link.poll(look, operation, seconds_to_moment=lambda: self._seconds_to_probe(handle))
        if seen is None:
            raise operation.error(OperationTimeout, f"not active after {self._spent(operation):.1f} s")
        return self._conclude(operation, handle, machine, seen)

    def _seconds_to_probe(self, handle: RegistrationHandle) -> float | None:
        dialect, sent_at = self._link.spoken(), handle.submitted_at_unix_seconds
        if dialect is None or sent_at is None:
            return None
        return seconds_to_next(max(0.0, self._link.unix_now() - sent_at), dialect.name)

    @staticmethod
    def machine(handle: RegistrationHandle) -> RegisterMachine:
        """Return the state machine where looks at this submission begin."""
        if not handle.listed_before:
            return RegisterMachine(RegisterState.AWAITED)
        return RegisterMachine(RegisterState.AWAITED_AGAIN if handle.failure is None else RegisterState.DOUBTED)

    async def see(self, operation: Operation, handle: RegistrationHandle) -> tuple[Observation, RegisterSign | None]:
        """Look once, keep in the handle what later looks can't show, and return the look and what it shows."""
        seen = await self._link.look(operation, handle.url, handle.worker_id)
        handle.last_observation = seen
        facts = self._facts(handle)
        sign = register_sign(seen, facts) if facts is not None else None
        if seen.rows:
            handle.row_seen = True
        job = seen.job
        if job is not None and job.adds and job.is_failed and job != handle.job_before:
            handle.failure = job.message or "no message"
        return seen, sign

    def _facts(self, handle: RegistrationHandle) -> RegisterFacts | None:
        dialect = self._link.spoken()
        if dialect is None:
            return None
        sent_at = handle.submitted_at_unix_seconds
        return RegisterFacts(
            url=handle.url,
            dialect=dialect,
            listed_before=bool(handle.listed_before),
            job_before=handle.job_before,
            row_seen=handle.row_seen,
            age_seconds=self._link.unix_now() - sent_at if sent_at is not None else None,
            horizon_seconds=self._horizon,
            worker_id=handle.worker_id,
        )

    def _conclude(
        self, operation: Operation, handle: RegistrationHandle, machine: RegisterMachine, seen: Observation
    ) -> Worker:
        handle.outcome_known = machine.state is not RegisterState.CONFLICT
        if machine.state is RegisterState.ACTIVE:
            worker = Worker(router=handle.router, url=handle.url, worker_id=handle.worker_id, rows=seen.rows or ())
            handle.phase = Phase.ACTIVE
            self.check_type(operation, handle, worker)
            return worker
        if machine.state is RegisterState.CONFLICT:
            raise operation.error(IdentityConflict, self._conflict(handle, machine, seen))
        if machine.state is RegisterState.LOST:
            handle.phase = Phase.LOST
            self._link.forget_dialect()
            raise operation.error(
                RegistrationLost,
                "accepted, but the router neither lists it nor works on it any more",
                safe_to_resubmit=True,
            )
        handle.phase = Phase.FAILED
        left = ""
        if seen.rows:
            left = "; the router lists the URL, so remove it before it is registered again"
        why = f"the router failed to activate it: {handle.failure or 'it gives no reason'}{left}"
        if machine.sign is RegisterSign.ENDED_SILENTLY and handle.failure is None:
            why = (
                "accepted, but the router neither lists it nor works on it any more: "
                "it failed, which this router doesn't record, or the router was restarted"
            )
        raise operation.error(
            RegistrationFailed,
            why,
            safe_to_resubmit=not seen.rows,
        )

    @staticmethod
    def check_type(operation: Operation, handle: RegistrationHandle, worker: Worker) -> None:
        """Raise IdentityConflict when the router has the worker as another type than was asked for."""
        for row in worker.rows:
            if row.worker_type in _KNOWN_TYPES and row.worker_type != handle.spec.worker_type:
                raise operation.error(
                    IdentityConflict,
                    f"registered as {row.worker_type!r}, asked for {handle.spec.worker_type!r}: remove it and register it again",
                )

    @staticmethod
    def _conflict(handle: RegistrationHandle, machine: RegisterMachine, seen: Observation) -> str:
        if machine.sign is RegisterSign.REMOVAL:
            job = f"its job {seen.job}" if seen.job else "it is draining"
            return f"while AddWorker was awaited somebody is removing this worker: {job}"
        return foreign_entry(seen, handle.url, handle.worker_id) or "another worker answers for this one"

    def _spent(self, operation: Operation) -> float:
        return self._link.now() - operation.deadline.began_seconds

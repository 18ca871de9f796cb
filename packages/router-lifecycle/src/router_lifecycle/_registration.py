"""The steps of a registration: look, submit once, look until the outcome is certain."""

from router_lifecycle._link import Link
from router_lifecycle._machine_register import (
    REGISTER_TABLE,
    RegisterFacts,
    RegisterMachine,
    RegisterSign,
    RegisterState,
    foreign_entry,
    register_sign,
)
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle._schedule import seconds_to_look
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
from router_lifecycle.models import Worker, WorkerRow
from router_lifecycle.observation import Observation

# The looks before the first that asks for the record are those at which live workers are listed.
_FIRST_RECORD = 4
_FRESH_SECONDS = 1.0
_SETTLING_SECONDS = 0.75
_AWAITED_SIGNS = (RegisterSign.PENDING, RegisterSign.UNHEALTHY)
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
            self.check_type(operation, handle, Worker(router=handle.router, url=handle.url, rows=before.rows))
        spoken = self._link.spoken()
        handle.phase, handle.listed_before, handle.row_seen = Phase.ACCEPTED, False, bool(before.rows)
        handle.dialect = spoken.name if spoken is not None else None
        ranked = bool(before.rows) and before.rows is not None and before.rows[0].rank is not None
        handle.worker_id = None if ranked else worker_id
        self._link.tell(operation, "adopted", str(before))

    async def wait(self, operation: Operation, handle: RegistrationHandle) -> Worker:
        """Look until the outcome of an accepted submission is certain.

        While nothing changes a look is one request: the list, which shows ranks soonest and may hold the worker as it was asked
        for, and then by turns the record, which also tells of a failure.
        """
        machine = self.machine(handle)
        looks = 0

        async def look() -> Looked[Observation]:
            nonlocal looks
            looks += 1
            asks_for_record = looks >= _FIRST_RECORD and looks % 2 == 0
            is_awaited = machine.sign in _AWAITED_SIGNS or (machine.sign is None and self._is_fresh(handle))
            if is_awaited and not asks_for_record:
                seen = await self._link.glance(operation, handle.url)
                if _is_as_submitted(handle, seen):
                    return self._judge(operation, handle, machine, seen)
                if seen.rows is None or bool(seen.rows) is (machine.sign is RegisterSign.UNHEALTHY):
                    return Looked(None, seen.retry_after_seconds)
            seen = await self._look(operation, handle, is_awaited=is_awaited)
            return self._judge(operation, handle, machine, seen)

        def wait_seconds(spread: float) -> float:
            dialect = self._link.spoken()
            age = self._age(handle)
            since = self._spent(operation) if age is None else max(0.0, age)
            wait = seconds_to_look(since, "url" if dialect is None else dialect.name, spread)
            # What only has to stay as it is doesn't take longer to settle for having taken long to come.
            return _SETTLING_SECONDS if (machine.state, machine.sign) in REGISTER_TABLE else wait

        if handle.dialect != "sync" and self._is_fresh(handle):
            # A look right after the answer finds nothing.
            left = operation.deadline.last_look_seconds - self._link.now()
            await self._link.rest(min(wait_seconds(1.0), left), operation)
        seen = await self._link.poll(look, operation, wait_seconds=wait_seconds)
        if seen is None:
            raise operation.error(OperationTimeout, f"not active after {self._spent(operation):.1f} s")
        return self._conclude(operation, handle, machine, seen)

    def _judge(
        self, operation: Operation, handle: RegistrationHandle, machine: RegisterMachine, seen: Observation
    ) -> Looked[Observation]:
        """Feed a look to the machine; it has a value when that leads to an end."""
        sign = self._take_in(handle, seen)
        if sign is None:
            return Looked(None, seen.retry_after_seconds)
        state = machine.see(sign, self._link.now())
        self._link.tell(operation, state if state.is_end else sign, str(seen))
        return Looked(seen if state.is_end else None, seen.retry_after_seconds)

    def _age(self, handle: RegistrationHandle) -> float | None:
        sent_at = handle.submitted_at_unix_seconds
        return None if sent_at is None else self._link.unix_now() - sent_at

    def _is_fresh(self, handle: RegistrationHandle) -> bool:
        """Return whether it was submitted just now, and the URL wasn't listed: then nothing but a new entry is news."""
        age = self._age(handle)
        return age is not None and age < _FRESH_SECONDS and handle.listed_before is False

    @staticmethod
    def machine(handle: RegistrationHandle) -> RegisterMachine:
        """Return the state machine where looks at this submission begin."""
        if not handle.listed_before:
            return RegisterMachine(RegisterState.AWAITED)
        return RegisterMachine(RegisterState.AWAITED_AGAIN if handle.failure is None else RegisterState.DOUBTED)

    async def see(self, operation: Operation, handle: RegistrationHandle) -> tuple[Observation, RegisterSign | None]:
        """Look once, keep in the handle what later looks can't show, and return the look and what it shows."""
        seen = await self._look(operation, handle, is_awaited=False)
        return seen, self._take_in(handle, seen)

    async def _look(self, operation: Operation, handle: RegistrationHandle, *, is_awaited: bool) -> Observation:
        """Look once; while it is awaited, a record that says so makes the list unneeded."""

        def is_pending(record: WorkerRow) -> bool:
            job = record.job_status
            is_open = job is not None and job != handle.job_before and job.adds and not job.is_failed
            return is_open and not record.is_healthy and not record.is_draining

        return await self._link.look(
            operation, handle.url, handle.worker_id, is_enough=is_pending if is_awaited else None
        )

    def _take_in(self, handle: RegistrationHandle, seen: Observation) -> RegisterSign | None:
        """Keep in the handle what later looks can't show, and return what a look shows."""
        handle.last_observation = seen
        facts = self._facts(handle)
        sign = register_sign(seen, facts) if facts is not None else None
        if seen.rows:
            handle.row_seen = True
        job = seen.job
        if job is not None and job.adds and job.is_failed and job != handle.job_before:
            handle.failure = job.message or "no message"
        return sign

    def _facts(self, handle: RegistrationHandle) -> RegisterFacts | None:
        dialect = self._link.spoken()
        if dialect is None:
            return None
        return RegisterFacts(
            url=handle.url,
            dialect=dialect,
            listed_before=bool(handle.listed_before),
            job_before=handle.job_before,
            row_seen=handle.row_seen,
            age_seconds=self._age(handle),
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


def _is_as_submitted(handle: RegistrationHandle, seen: Observation) -> bool:
    """Return whether the list alone proves it: the URL wasn't listed before, and now is, once, routable, under the id that was told."""
    if handle.listed_before is not False or not seen.rows or len(seen.rows) > 1:
        return False
    row = seen.rows[0]
    return row.rank is None and row.is_routable and row.id is not None and row.id == handle.worker_id

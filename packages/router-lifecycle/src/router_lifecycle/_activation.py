"""The steps after an accepted submission: look until the outcome is certain."""

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
from router_lifecycle.errors import IdentityConflict, OperationTimeout, RegistrationFailed, RegistrationLost
from router_lifecycle.handle import Phase, RegistrationHandle
from router_lifecycle.models import Worker, WorkerRow
from router_lifecycle.observation import Observation

_KNOWN_TYPES = ("regular", "prefill", "decode")
# The looks before the first that asks for the record are those at which live workers are listed.
_FIRST_RECORD = 4
_FRESH_SECONDS = 1.0
_SETTLING_SECONDS = 0.75
_AWAITED_SIGNS = (RegisterSign.PENDING, RegisterSign.UNHEALTHY)


class Activation:
    """Follows accepted submissions over a link."""

    def __init__(self, link: Link, *, horizon_seconds: float) -> None:
        """Take the link, and the age from which a router can't be working on a submission any more."""
        self._link = link
        self._horizon = horizon_seconds

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
            check_type(operation, handle, worker)
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
    def _conflict(handle: RegistrationHandle, machine: RegisterMachine, seen: Observation) -> str:
        if machine.sign is RegisterSign.REMOVAL:
            job = f"its job {seen.job}" if seen.job else "it is draining"
            return f"while AddWorker was awaited somebody is removing this worker: {job}"
        return foreign_entry(seen, handle.url, handle.worker_id) or "another worker answers for this one"

    def _spent(self, operation: Operation) -> float:
        return self._link.now() - operation.deadline.began_seconds


def check_type(operation: Operation, handle: RegistrationHandle, worker: Worker) -> None:
    """Raise IdentityConflict when the router has the worker as another type than was asked for."""
    for row in worker.rows:
        if row.worker_type in _KNOWN_TYPES and row.worker_type != handle.spec.worker_type:
            raise operation.error(
                IdentityConflict,
                f"registered as {row.worker_type!r}, asked for {handle.spec.worker_type!r}: remove it and register it again",
            )


def _is_as_submitted(handle: RegistrationHandle, seen: Observation) -> bool:
    """Return whether the list alone proves it: the URL wasn't listed before, and now is, once, routable, under the id that was told."""
    if handle.listed_before is not False or not seen.rows or len(seen.rows) > 1:
        return False
    row = seen.rows[0]
    return row.rank is None and row.is_routable and row.id is not None and row.id == handle.worker_id

"""The steps of a removal: look, ask, look until the worker is gone for good."""

from router_lifecycle._link import Link
from router_lifecycle._machine_register import foreign_entry
from router_lifecycle._machine_remove import (
    RemoveFacts,
    RemoveMachine,
    RemoveSign,
    RemoveState,
    removal_answer,
    remove_sign,
)
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle.errors import (
    IdentityConflict,
    OperationTimeout,
    RemovalFailed,
    RemovalUnresolved,
    TransportError,
)
from router_lifecycle.handle import RemovalHandle
from router_lifecycle.observation import Observation

_UNDER_WAY = (RemoveSign.REMOVING, RemoveSign.DRAINING)
# A router looks for the end of a job in steps of up to 2 s, and then deletes the record of the URL, whosever it is by then: what is
# submitted on the same URL before that is without a record, and looks lost while the router still works on it.
_RECORD_OUTLIVES_JOB_SECONDS = 2.0
_MAY_COME_BACK = (RemoveSign.ADDING, RemoveSign.QUIET, RemoveSign.UNTRACED)


class Remover:
    """Carries out removals over a link."""

    def __init__(self, link: Link, *, horizon_seconds: float, unreachable_budget_seconds: float) -> None:
        """Take the link and two bounds.

        Args:
            link: The way to the router.
            horizon_seconds: The age from which a router can't be working on a submission any more.
            unreachable_budget_seconds: For how long a removal goes on while the router answers nothing.
        """
        self._link = link
        self._horizon = horizon_seconds
        self._budget = unreachable_budget_seconds

    async def submit(self, operation: Operation, handle: RemovalHandle) -> None:
        """Look, and send the DELETE if there is something to delete; return as soon as it was sent or isn't needed."""
        await self._run(operation, handle, until_sent=True)

    async def wait(self, operation: Operation, handle: RemovalHandle) -> None:
        """Look, and ask again where a look shows that it is needed, until the worker is gone for good."""
        await self._run(operation, handle, until_sent=False)

    async def _run(self, operation: Operation, handle: RemovalHandle, *, until_sent: bool) -> None:
        machine = RemoveMachine(RemoveState(handle.answer) if handle.answer else RemoveState.INTENDED)
        down_since: float | None = None
        gave_up = False

        async def look() -> Looked[Observation]:
            nonlocal down_since, gave_up
            began = self._link.now()
            seen = await self._link.look(operation, handle.url, handle.worker_id)
            handle.last_observation = seen
            # From its beginning: a connection that is never answered can take the whole budget by itself.
            down_since = (began if down_since is None else down_since) if seen.unanswered else None
            gave_up = down_since is not None and self._link.now() - down_since >= self._budget
            await self._step(operation, handle, machine, seen)
            sent = until_sent and (handle.deletes > 0 or machine.sign in _UNDER_WAY)
            return Looked(seen if machine.state.is_end or gave_up or sent else None, seen.retry_after_seconds)

        if handle.done:
            return
        await self._link.poll(look, operation)
        if machine.state is RemoveState.GONE and handle.deletes:
            await self._link.rest(_RECORD_OUTLIVES_JOB_SECONDS, operation)
        self._conclude(operation, handle, machine, gave_up=gave_up, until_sent=until_sent)

    async def _step(
        self, operation: Operation, handle: RemovalHandle, machine: RemoveMachine, seen: Observation
    ) -> None:
        dialect = self._link.spoken()
        if dialect is None:
            return
        now = self._link.unix_now()
        facts = RemoveFacts(
            url=handle.url,
            dialect=dialect,
            worker_id=handle.worker_id,
            may_be_pending=handle.may_be_pending,
            unlisted_before=handle.unlisted_before,
            age_seconds=now - handle.submitted_at_unix_seconds
            if handle.submitted_at_unix_seconds is not None
            else None,
            horizon_seconds=self._horizon,
            job_before=handle.job_before,
            asked_seconds_ago=now - handle.asked_at_unix_seconds if handle.asked_at_unix_seconds is not None else None,
        )
        sign = remove_sign(seen, facts)
        state = machine.see(sign, self._link.now())
        self._remember(handle, seen, sign, now)
        self._link.tell(operation, state if state.is_end else sign, str(seen))
        if state is RemoveState.ASKING:
            await self._ask(operation, handle, machine, seen)

    def _remember(self, handle: RemovalHandle, seen: Observation, sign: RemoveSign, now: float) -> None:
        """Keep what later looks can't show any more."""
        if sign is RemoveSign.ADDING and not handle.may_be_pending:
            handle.may_be_pending = True
            handle.submitted_at_unix_seconds = handle.submitted_at_unix_seconds or now
        elif sign is RemoveSign.ABSENT or (handle.unlisted_before and seen.rows):
            # The activation has ended, or this is what came of it.
            handle.may_be_pending = False

    async def _ask(
        self, operation: Operation, handle: RemovalHandle, machine: RemoveMachine, seen: Observation
    ) -> None:
        """Send the DELETE of each id; the handle says `uncertain` while that is going on."""
        dialect = self._link.spoken()
        worker_ids = dialect.removal_ids(handle.url, handle.worker_id, seen.rows or ()) if dialect is not None else ()
        if dialect is None or not worker_ids:
            self._no_id(operation, handle, machine, seen)
            return
        before = handle.model_copy()
        handle.job_before = seen.job
        handle.asked_at_unix_seconds = self._link.unix_now()
        outcomes: set[RemoveState] = set()
        for worker_id in worker_ids:
            handle.deletes += 1
            handle.answer = RemoveState.UNCERTAIN.value
            self._link.tell(operation, "removing", f"id {worker_id}")
            try:
                answer = await self._link.send(dialect.remove(worker_id), operation)
            except TransportError as error:
                if not error.maybe_sent and not outcomes:
                    self._take_back(handle, before)
                    machine.put(RemoveState(before.answer) if before.answer else RemoveState.INTENDED)
                    return
                outcomes.add(RemoveState.UNCERTAIN)
                break
            outcomes.add(removal_answer(answer))
            if RemoveState.FAILED in outcomes:
                raise operation.error(RemovalFailed, f"the router refused the removal: {answer.excerpt()}")
        worst = next(state for state in _WORST_FIRST if state in outcomes)
        handle.answer = worst.value
        if worst is RemoveState.UNKNOWN_ID:
            handle.asked_at_unix_seconds = before.asked_at_unix_seconds
        machine.put(worst)

    @staticmethod
    def _take_back(handle: RemovalHandle, before: RemovalHandle) -> None:
        """Take back that something was sent: it certainly wasn't."""
        handle.deletes, handle.answer = before.deletes, before.answer
        handle.asked_at_unix_seconds = before.asked_at_unix_seconds

    def _no_id(self, operation: Operation, handle: RemovalHandle, machine: RemoveMachine, seen: Observation) -> None:
        if seen.rows:
            raise operation.error(
                RemovalFailed,
                "its data-parallel ranks can only be removed by the id that the router gave when the worker was submitted, "
                "which no list shows: remove the handle or the worker of its registration, or submit the worker again, "
                "which such a router takes as no change, wait until it is active, and remove that",
            )
        # What is pending under an id that was never told can only be looked for in the list.
        machine.put(RemoveState.UNKNOWN_ID)
        handle.answer = RemoveState.UNKNOWN_ID.value

    def _conclude(
        self, operation: Operation, handle: RemovalHandle, machine: RemoveMachine, *, gave_up: bool, until_sent: bool
    ) -> None:
        seen = handle.last_observation
        if machine.state is RemoveState.GONE:
            handle.done, handle.may_be_pending = True, False
            return
        if machine.state is RemoveState.FAILED:
            job = seen.job if seen is not None else None
            why = job.message if job is not None and job.message else "no reason given"
            # Whoever goes on with the handle asks anew: this record is then an old one.
            handle.answer, handle.job_before = None, job
            raise operation.error(RemovalFailed, f"the router failed to remove it: {why}")
        if machine.state is RemoveState.CONFLICT and seen is not None:
            raise operation.error(
                IdentityConflict,
                foreign_entry(seen, handle.url, handle.worker_id) or "another worker answers for this one",
            )
        if gave_up:
            what = "reached the router" if seen is None or seen.unreachable else "been answered"
            raise operation.error(
                RemovalUnresolved,
                f"no request has {what} for {self._budget:g} s, so it may still route to the worker",
            )
        if until_sent and (handle.deletes > 0 or machine.sign in _UNDER_WAY):
            return
        spent = self._link.now() - operation.deadline.began_seconds
        if machine.sign in _MAY_COME_BACK:
            raise operation.error(
                RemovalUnresolved, f"not listed after {spent:.1f} s, but its activation may still be under way"
            )
        raise operation.error(OperationTimeout, f"not gone after {spent:.1f} s")


_WORST_FIRST = (RemoveState.UNCERTAIN, RemoveState.ACCEPTED, RemoveState.UNKNOWN_ID)

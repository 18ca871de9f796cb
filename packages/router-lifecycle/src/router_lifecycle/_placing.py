"""A registration beside or in the place of what is there: the steps of registration and removal put together."""

from router_lifecycle._activation import Activation
from router_lifecycle._link import Link
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Deadline
from router_lifecycle._registration import Registrar
from router_lifecycle._removal import Remover
from router_lifecycle.errors import (
    AlreadyRegistered,
    CreateInProgress,
    NotSent,
    RegistrationFailed,
    RegistrationLost,
    RemovalUnresolved,
    SubmissionUnknown,
)
from router_lifecycle.handle import Phase, RegistrationHandle, RemovalHandle, ReplacementHandle
from router_lifecycle.models import Worker
from router_lifecycle.targets import OnExisting, Target, removal_of

_OVER: dict[Phase, tuple[type[RegistrationFailed | RegistrationLost], str]] = {
    Phase.FAILED: (RegistrationFailed, "this failed"),
    Phase.LOST: (RegistrationLost, "this was lost"),
    Phase.REMOVED: (RegistrationLost, "this was removed"),
}


class Placer:
    """Carries out what takes more than one operation, over a link."""

    def __init__(self, link: Link, registrar: Registrar, activation: Activation, remover: Remover) -> None:
        """Take the link, and what submits, awaits and removes."""
        self._link = link
        self._registrar = registrar
        self._activation = activation
        self._remover = remover

    async def submit(self, operation: Operation, handle: RegistrationHandle) -> None:
        """Submit a handle that wasn't yet, whatever is there."""
        if handle.phase is Phase.SUBMISSION_UNKNOWN:
            raise operation.error(SubmissionUnknown, "an earlier submission with this handle has an unknown outcome")
        if handle.phase is Phase.NEW:
            await self._registrar.submit(operation, handle, await self._registrar.look_before(operation, handle))

    async def register(self, deadline: Deadline, handle: RegistrationHandle, on_existing: OnExisting) -> Worker:
        """Submit a handle that wasn't yet, as `on_existing` allows, and wait until it is routable."""
        if handle.phase is Phase.NEW:
            await self._submit_beside(self._link.operation("submission", deadline, handle), handle, on_existing)
        return await self.wait_until_active(deadline, handle)

    async def wait_until_active(self, deadline: Deadline, handle: RegistrationHandle) -> Worker:
        """Wait for what was accepted; of everything else it is known at once that waiting is no use."""
        operation = self._link.operation("activation", deadline, handle)
        if handle.phase is Phase.SUBMISSION_UNKNOWN:
            raise operation.error(SubmissionUnknown, "it isn't known whether this was accepted")
        if handle.phase is Phase.NEW:
            raise operation.error(NotSent, "this was never submitted", safe_to_resubmit=True)
        if handle.phase in _OVER:
            kind, why = _OVER[handle.phase]
            raise operation.error(kind, f"{why} already; submit it with a new handle")
        return await self._activation.wait(operation, handle)

    async def remove(self, deadline: Deadline, target: Target) -> None:
        """Remove a worker; the handle of its registration tells it, if that is what was given."""
        handle = removal_of(self._link.router, target)
        await self._remove(deadline, handle, target if isinstance(target, RegistrationHandle) else None)

    async def replace(
        self, deadline: Deadline, handle: ReplacementHandle, going: RegistrationHandle | None = None
    ) -> Worker:
        """Do what is left of a replacement.

        Args:
            deadline: When it has to be over.
            handle: Brought up to date at each step.
            going: The registration of the old one, which is told of its removal.
        """
        new = handle.new
        if handle.is_in_place and new.phase is Phase.NEW and not handle.old.done:
            # What can't be registered must not cost the worker that is there.
            operation = self._link.operation("submission", deadline, new)
            await self._registrar.look_before(operation, new)
            self._registrar.check_can_submit(operation, new)
            await self._remove(deadline, handle.old, going)
        worker = await self.register(deadline, new, "fail")
        if not handle.is_in_place:
            await self._remove(deadline, handle.old, going)
        return worker

    async def _submit_beside(self, operation: Operation, handle: RegistrationHandle, on_existing: OnExisting) -> None:
        """Submit, or take over or remove what is there before."""
        before = await self._registrar.look_before(operation, handle)
        try:
            if before.rows:
                operation.worker_id = before.rows[0].id if before.rows[0].rank is None else None
                raise operation.error(AlreadyRegistered, "the router lists this URL already")
            await self._registrar.submit(operation, handle, before)
        except (AlreadyRegistered, CreateInProgress) as existing:
            if on_existing == "fail":
                raise
            if on_existing == "adopt":
                self._registrar.adopt(operation, handle, existing.worker_id, before)
                return
            self._registrar.check_can_submit(operation, handle)
            removal = RemovalHandle(
                router=self._link.router,
                url=handle.url,
                worker_id=existing.worker_id,
                may_be_pending=isinstance(existing, CreateInProgress),
                submitted_at_unix_seconds=self._link.unix_now(),
            )
            await self._remove(operation.deadline, removal, None)
            await self._registrar.submit(operation, handle, await self._registrar.look_before(operation, handle))

    async def _remove(self, deadline: Deadline, handle: RemovalHandle, going: RegistrationHandle | None) -> None:
        if going is not None:
            going.phase = Phase.REMOVING
        try:
            await self._remover.wait(self._link.operation("removal", deadline, handle), handle)
        except RemovalUnresolved:
            if going is not None:
                going.phase = Phase.UNRESOLVED
            raise
        if going is not None:
            going.phase = Phase.REMOVED

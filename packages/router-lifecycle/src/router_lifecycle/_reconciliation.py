"""The steps of a reconciliation: look, submit nothing, and say what became of a submission."""

from router_lifecycle._activation import Activation
from router_lifecycle._link import Link
from router_lifecycle._machine_register import RegisterSign, RegisterState, foreign_entry
from router_lifecycle._operation import Operation
from router_lifecycle._polling import Looked
from router_lifecycle._registration import Registrar
from router_lifecycle._steadiness import SETTLED, Steadiness, Stillness
from router_lifecycle.handle import Phase, ReconciledState, Reconciliation, RegistrationHandle
from router_lifecycle.models import Worker
from router_lifecycle.observation import Observation

_RECONCILED = {
    RegisterState.ACTIVE: ReconciledState.ACTIVE,
    RegisterState.FAILED: ReconciledState.FAILED,
    RegisterState.LOST: ReconciledState.ABSENT,
    RegisterState.CONFLICT: ReconciledState.UNRESOLVED,
}
_OPEN = {RegisterSign.PENDING: ReconciledState.PENDING, RegisterSign.UNHEALTHY: ReconciledState.PENDING}
# Of what was never sent these show that it isn't there; of what was sent, only for how long nothing has been seen of it.
_NOTHING = (RegisterSign.VANISHED, RegisterSign.ENDED_SILENTLY, RegisterSign.UNTRACED)
_PHASES = {
    ReconciledState.ACTIVE: Phase.ACTIVE,
    ReconciledState.PENDING: Phase.ACCEPTED,
    ReconciledState.FAILED: Phase.FAILED,
}


class Reconciler:
    """Carries out reconciliations over a link."""

    def __init__(self, link: Link, registrar: Registrar, activation: Activation) -> None:
        """Take the link, what submits, and what looks at submissions."""
        self._link = link
        self._registrar = registrar
        self._activation = activation

    async def reconcile(
        self, operation: Operation, handle: RegistrationHandle, settle_seconds: float | None
    ) -> Reconciliation:
        """Look until it is certain what became of a submission, or until the deadline."""
        machine = self._activation.machine(handle)
        was_never_sent = handle.phase is Phase.NEW
        settled = None if settle_seconds is None else Steadiness(SETTLED.looks, settle_seconds)
        still = Stillness()
        state: ReconciledState | None = None

        async def look() -> Looked[Observation]:
            nonlocal state
            seen, sign = await self._activation.see(operation, handle)
            if sign is not None:
                self._learn_id(handle, seen)
                state = _RECONCILED.get(machine.see(sign, self._link.now())) or _OPEN.get(sign)
            if was_never_sent and sign in _NOTHING:
                state = ReconciledState.ABSENT
            if sign is RegisterSign.UNTRACED and settled is not None and still.holds(sign, settled, self._link.now()):
                state = ReconciledState.ABSENT
            return Looked(seen if state is not None else None, seen.retry_after_seconds)

        seen = await self._link.poll(look, operation)
        found = state or ReconciledState.UNRESOLVED
        worker = None
        if found is ReconciledState.ACTIVE and seen is not None:
            worker = Worker(router=handle.router, url=handle.url, worker_id=handle.worker_id, rows=seen.rows or ())
        if found is ReconciledState.ABSENT:
            self._registrar.unsubmitted(handle)
        else:
            handle.phase = _PHASES.get(found, handle.phase)
            handle.outcome_known = found in (ReconciledState.ACTIVE, ReconciledState.FAILED)
        last = seen or operation.seen or Observation(seen_at_unix_seconds=self._link.unix_now())
        self._link.tell(operation, found, str(last))
        return Reconciliation(state=found, handle=handle, worker=worker, observation=last)

    def _learn_id(self, handle: RegistrationHandle, seen: Observation) -> None:
        """Take the id from the list, where the submission's answer never told it."""
        dialect = self._link.spoken()
        if dialect is None or foreign_entry(seen, handle.url, None) is not None:
            return
        handle.dialect = handle.dialect or (dialect.name if seen.rows or seen.record else None)
        whole = [row for row in seen.rows or () if row.rank is None]
        if handle.worker_id is None and whole:
            handle.worker_id = whole[0].id

"""What one call of a caller is about, and the errors that carry all that is known of it."""

from dataclasses import dataclass

from router_lifecycle._polling import Deadline
from router_lifecycle.errors import OperationError, OperationPhase
from router_lifecycle.handle import RegistrationHandle, RemovalHandle
from router_lifecycle.observation import Observation


@dataclass(slots=True)
class Operation:
    """One call of a caller: what it is about and until when.

    Attributes:
        phase: What is being done.
        router: URL of the router.
        deadline: When it has to be over.
        worker_url: The worker, or None when it is about all of them.
        handle: What the caller holds, or None.
        worker_id: The router's id of the worker, or None while unknown.
        seen: The last look, or None.
    """

    phase: OperationPhase
    router: str
    deadline: Deadline
    worker_url: str | None = None
    handle: RegistrationHandle | RemovalHandle | None = None
    worker_id: str | None = None
    seen: Observation | None = None
    strange_looks: int = 0
    told: str | None = None

    def error(self, kind: type[OperationError], message: str, *, safe_to_resubmit: bool = False) -> OperationError:
        """Return an error that carries all that is known of the operation."""
        handle_id = self.handle.worker_id if self.handle is not None else None
        return kind(
            message,
            phase=self.phase,
            router=self.router,
            worker_url=self.worker_url,
            worker_id=self.worker_id or handle_id,
            observation=self.seen,
            handle=self.handle,
            safe_to_resubmit=safe_to_resubmit,
        )

    @property
    def nothing_was_submitted(self) -> bool:
        """Whether the worker certainly wasn't submitted with the handle of this operation."""
        return isinstance(self.handle, RegistrationHandle) and self.handle.submitted_at_unix_seconds is None

"""The errors of router_lifecycle.

RouterLifecycleError
├── InvalidWorkerURLError      a text can't be registered as the URL of a worker; nothing was sent
├── InvalidRouterURLError      a text is no URL of a router; nothing was sent
├── TransportError             a request has no answer (from a `Transport`; callers of the client see the errors below)
└── OperationError             an operation on a worker did not end as asked; carries all that is known
    ├── SubmissionRejected     the router refused the submission; nothing was accepted
    │   ├── AlreadyRegistered  the URL is registered
    │   └── CreateInProgress   another submission of the URL is under way
    ├── NotSent                the submission never reached the router
    ├── SubmissionUnknown      it may or may not have been accepted: `reconcile` before anything else
    ├── RegistrationFailed     accepted, and the router then failed to activate the worker
    ├── RegistrationLost       accepted, and the router no longer knows of it (restarted, or somebody removed it)
    ├── OperationTimeout       the deadline passed first; the handle can be waited for again
    ├── RemovalFailed          the router refused or failed the removal
    ├── RemovalUnresolved      not listed, but an accepted registration may still bring it back: `watch_for_ghost`
    ├── UpdateFailed           the router refused or failed the update
    ├── IdentityConflict       what the router has under this URL or id is not what was meant
    ├── AuthenticationError    401 or 403: a key is missing, wrong, or not allowed to do this
    └── RouterUnsupported      what answers is no router that is known, or one that can't do this

`dialects.UnknownRouterError` and the errors of `publication`, which draws its own tree, are RouterLifecycleErrors as well.

`WorkerSpec` is a pydantic model: what it refuses is a `pydantic.ValidationError`, which carries the first error above for its
`url`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from router_lifecycle.handle import RegistrationHandle, RemovalHandle
    from router_lifecycle.observation import Observation

OperationPhase: TypeAlias = Literal["submission", "activation", "reconciliation", "removal", "update", "listing"]
"""What was being done."""


class RouterLifecycleError(Exception):
    """Base of every error that router_lifecycle raises.

    What to do: read the message, which names what was received, what is allowed and what to change.
    """


class InvalidWorkerURLError(RouterLifecycleError, ValueError):
    """A text can't be registered as the URL of a worker.

    Attributes:
        url: The text, with a user name, password or query replaced by `***`, since messages end up in logs.
        reason: Why it can't, and what to do, as half a sentence.
    """

    def __init__(self, url: str, reason: str) -> None:
        """Give the text, without its secrets, and what is wrong with it."""
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        """Say what was received, what is wrong with it and what is allowed, in one line."""
        return (
            f"worker URL {self.url!r} is not allowed, {self.reason}; "
            "allowed is http, https or grpc with host and port, such as http://10.0.0.1:30000"
        )


class InvalidRouterURLError(RouterLifecycleError, ValueError):
    """A text is no URL of a router; it is not repeated when it may hold a password."""

    def __init__(self, url: str) -> None:
        """Give the text."""
        shown = "(with an @, not repeated)" if "@" in url else repr(url)
        super().__init__(
            f"router URL {shown} is not allowed; allowed is http or https with a host and perhaps a port from 1 to 65535, "
            "without user name, query and fragment, such as http://router:30000; give a key as api_key"
        )


class TransportError(RouterLifecycleError):
    """A request has no answer.

    What to do: submit again only when `maybe_sent` is False; otherwise look first.

    Attributes:
        maybe_sent: Whether the router can have got the request; False only when that is certain.
    """

    def __init__(self, reason: str, *, maybe_sent: bool) -> None:
        """Say what happened, and whether the router can have got the request."""
        super().__init__(reason)
        self.maybe_sent = maybe_sent


class OperationError(RouterLifecycleError):
    """An operation did not end as asked. The message names router and worker and says what is known and what to do.

    What to do: go on with `handle`, or submit again where `safe_to_resubmit` says so.

    Attributes:
        message: What happened.
        phase: What was being done.
        router: URL of the router.
        worker_url: URL of the worker, or None when the operation is about no single worker.
        worker_id: The router's id of it, or None while unknown.
        observation: The last look at the worker, or None when there was none.
        handle: To go on with, here or in another process, or None where there is nothing to go on with.
        safe_to_resubmit: Whether submitting the worker now can't become a second registration of it.
    """

    advice: str = ""
    """What to do, as a sentence's second half; set by each class."""
    advice_needs_handle: bool = False
    """Whether the advice is about the handle, and out of place without one."""

    def __init__(
        self,
        message: str,
        *,
        phase: OperationPhase,
        router: str,
        worker_url: str | None = None,
        worker_id: str | None = None,
        observation: Observation | None = None,
        handle: RegistrationHandle | RemovalHandle | None = None,
        safe_to_resubmit: bool = False,
    ) -> None:
        """Say what happened, to what, and what is known."""
        super().__init__(message)
        self.message = message
        self.phase = phase
        self.router = router
        self.worker_url = worker_url
        self.worker_id = worker_id
        self.observation = observation
        self.handle = handle
        self.safe_to_resubmit = safe_to_resubmit

    def __str__(self) -> str:
        """Name worker and router, what happened, the last look and the advice, in one line."""
        worker = f"worker {self.worker_url}" if self.worker_url else "workers"
        if self.worker_id and self.worker_id != self.worker_url:
            worker += f" (id {self.worker_id})"
        parts = [f"{worker} at router {self.router}, {self.phase}: {self.message}"]
        if self.observation is not None:
            parts.append(f"last look: {self.observation}")
        if self.advice and (self.handle is not None or not self.advice_needs_handle):
            parts.append(self.advice)
        return "; ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive a process boundary whole."""
        known = {name: value for name, value in vars(self).items() if name not in ("message", "__notes__")}
        return partial(type(self), self.message, **known), ()


class SubmissionRejected(OperationError):
    """The router refused the submission with a definite answer; nothing was accepted. Mend the cause and submit again.

    What to do: mend what the message names and submit again.
    """

    advice = "nothing was accepted"


class AlreadyRegistered(SubmissionRejected):
    """The URL is registered; `worker_id` is the id that the router has it under, where it says so."""

    advice = (
        'nothing was submitted for it now; on_existing="adopt" takes it over, on_existing="replace" removes it first'
    )


class CreateInProgress(SubmissionRejected):
    """Another submission of the URL is under way; `worker_id` is its id, where the router says so."""

    advice = 'on_existing="adopt" waits for that one, on_existing="replace" removes it first'


class NotSent(OperationError):
    """The submission never reached the router: certainly nothing was accepted."""

    advice = "submit again when the router is reachable"


class SubmissionUnknown(OperationError):
    """The submission may or may not have been accepted; nothing is submitted again with this handle before `reconcile`."""

    advice = "call reconcile before submitting it again"


class RegistrationFailed(OperationError):
    """The router accepted the worker and then failed to activate it.

    `safe_to_resubmit` is False while the failed entry is still listed: remove it first.

    What to do: submit again where `safe_to_resubmit` says so; otherwise remove the failed entry first.
    """


class RegistrationLost(OperationError):
    """The router accepted the worker and no longer knows of it: it was restarted, or somebody removed the worker."""

    advice = "register it again"


class OperationTimeout(OperationError, TimeoutError):
    """The deadline passed before the outcome was known; waiting again with the handle goes on where this stopped."""

    advice = "wait again with the handle; do not submit again"
    advice_needs_handle = True


class RemovalFailed(OperationError):
    """The router refused or failed the removal.

    What to do: remove it again; when it is refused again, read what the router says.
    """


class RemovalUnresolved(OperationError):
    """It can't be shown that the worker stays away.

    Either it isn't listed but a registration that was accepted may still bring it back, or the router could not be reached or didn't answer.
    """

    advice = "call watch_for_ghost with the handle, and do not use the URL for another worker until then"


class UpdateFailed(OperationError):
    """The router refused or failed the update.

    What to do: register the worker anew with the changed values, where the router can't change them.
    """


class IdentityConflict(OperationError):
    """What the router has under this URL or id is not what was meant, or somebody else is working on it.

    What to do: find out who else registers under this URL before anything is submitted or removed.
    """


class AuthenticationError(OperationError):
    """The router answered 401 or 403; trying again without another key can't help."""

    advice = "check api_key, which is the router's key and not the worker's"


class RouterUnsupported(OperationError):
    """What answers is no router that is known, or one that can't do what was asked.

    What to do: check the router's address; `router-lifecycle doctor` prints what it speaks.
    """

"""The client: registers workers at one router, removes them, and knows when either is done."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from types import TracebackType
from typing import Self

from router_lifecycle._activation import Activation
from router_lifecycle._link import Link
from router_lifecycle._operation import Operation
from router_lifecycle._placing import Placer
from router_lifecycle._reconciliation import Reconciler
from router_lifecycle._registration import Registrar
from router_lifecycle._removal import Remover
from router_lifecycle._updating import Updater
from router_lifecycle.dialects import Dialect
from router_lifecycle.errors import OperationTimeout
from router_lifecycle.events import EventListener
from router_lifecycle.handle import Phase, Reconciliation, RegistrationHandle, RemovalHandle, ReplacementHandle
from router_lifecycle.interfaces import Transport
from router_lifecycle.many import RegistrationResult, register_beside
from router_lifecycle.models import Worker, group_rows
from router_lifecycle.observation import Observation
from router_lifecycle.router_url import normalize_router_url
from router_lifecycle.spec import WorkerSpec
from router_lifecycle.targets import (
    OnExisting,
    Target,
    check_on_existing,
    registration_of,
    removal_of,
    url_of,
    worker_id_of,
)
from router_lifecycle.transport import HttpxTransport


class RouterLifecycleClient:
    """Registers and removes workers at one SGLang router or SMG.

    A router answers before the work is done, so each operation is a request and then looks at the router until the outcome is
    certain. A submission is one POST, ever. Nothing is kept here between calls but what the router speaks; what must be known
    later is in the handles. One client serves any number of operations at once, in one event loop.

    Every operation raises `OperationError` or one of its kinds; the `timeout` of a call bounds all of it, in seconds.
    """

    def __init__(
        self,
        router_url: str,
        *,
        api_key: str | None = None,
        transport: Transport | None = None,
        trust_env: bool = False,
        request_timeout_seconds: float = 10.0,
        worker_startup_timeout_seconds: float = 1_830.0,
        unreachable_budget_seconds: float = 5.0,
        on_event: EventListener | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wall_clock: Callable[[], float] = time.time,
        random: Random | None = None,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            router_url: URL of the router, such as http://router:30000.
            api_key: The router's own key; None or "" sends no Authorization header.
            transport: Carries the requests and is closed with the client, or None for `HttpxTransport`.
            trust_env: Whether proxies named in the environment are used; only without a transport.
            request_timeout_seconds: Bound of one request.
            worker_startup_timeout_seconds: How long the router may go on trying to activate a worker that it accepted: its
                `--worker-startup-timeout-secs` and 30 s. Until then what is not listed may still come.
            unreachable_budget_seconds: How long a removal goes on while no request reaches the router or none is answered, so that
                a router that is down doesn't hold up a shutdown; one request may take `request_timeout_seconds` by itself.
            on_event: Told what happens while it happens.
            clock: Seconds on a clock that never steps.
            sleep: Waits on that clock.
            wall_clock: Seconds since the Unix epoch; read once, for the times in handles.
            random: Source of the jitter between looks.

        Raises:
            InvalidRouterURLError: It is no URL of a router.
            ValueError: A bound isn't above 0, `api_key` can't be a header's, or `api_key` or `trust_env` is given beside a transport that would not use it.
        """
        bounds = (request_timeout_seconds, worker_startup_timeout_seconds, unreachable_budget_seconds)
        if not all(bound > 0 for bound in bounds):
            raise ValueError(f"bounds {bounds} are not allowed: each needs more than 0 seconds")
        if transport is not None and (api_key or trust_env):
            raise ValueError("api_key and trust_env are for the client's own transport: give them to yours")
        self.router_url: str = normalize_router_url(router_url)
        self._link = Link(
            self.router_url,
            transport or HttpxTransport(router_url, api_key=api_key, trust_env=trust_env),
            request_timeout_seconds=request_timeout_seconds,
            clock=clock,
            sleep=sleep,
            wall_clock=wall_clock,
            random=random or Random(),  # noqa: S311 - it spreads looks, it guards nothing
            on_event=on_event,
        )
        registrar = Registrar(self._link)
        activation = Activation(self._link, horizon_seconds=worker_startup_timeout_seconds)
        self._reconciler = Reconciler(self._link, registrar, activation)
        self._remover = Remover(
            self._link,
            horizon_seconds=worker_startup_timeout_seconds,
            unreachable_budget_seconds=unreachable_budget_seconds,
        )
        self._placer = Placer(self._link, registrar, activation, self._remover)
        self._updater = Updater(self._link)
        self._horizon_seconds = worker_startup_timeout_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections; the client can't be used afterwards."""
        await self._link.aclose()

    async def list_workers(self, *, timeout: float = 30.0) -> list[Worker]:
        """Return the workers that the router lists; entries that are no worker's are left out.

        Raises:
            OperationTimeout: The list could not be read.
            AuthenticationError: The router refuses the key.
            RouterUnsupported: It answers like no router.
        """
        operation = Operation("listing", self.router_url, self._link.deadline(timeout))
        rows = await self._link.poll_list(operation)
        if rows is None:
            raise operation.error(OperationTimeout, "the list could not be read")
        return group_rows(self.router_url, rows)

    async def find_dialect(self, *, timeout: float = 30.0) -> Dialect:
        """Return what the router speaks, which says what can be asked of it.

        Raises:
            OperationTimeout: It could not be found.
            AuthenticationError: The router refuses the key.
            RouterUnsupported: It answers like no router.
        """
        operation = Operation("listing", self.router_url, self._link.deadline(timeout))
        await self._link.poll_list(operation)
        dialect = self._link.spoken()
        if dialect is None:
            raise operation.error(OperationTimeout, "what the router speaks could not be found")
        return dialect

    async def observe(self, target: Target) -> Observation:
        """Look at a worker once and return what is known of it; what can't be read is unknown in it, and no error.

        Raises:
            AuthenticationError: The router refuses the key.
        """
        operation = Operation("listing", self.router_url, self._link.deadline(60.0), url_of(target))
        return await self._link.look(operation, url_of(target), worker_id_of(target))

    async def submit(self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 30.0) -> RegistrationHandle:
        """Submit a worker with one POST and return its handle; `wait_until_active` is what follows.

        A handle that was submitted already comes back as it is, without a request. Give a handle of your own to have it when the
        call is cancelled or the process dies: `RegistrationHandle(router=client.router_url, spec=spec)`.

        Raises:
            NotSent: The router could not be reached; nothing was accepted.
            SubmissionRejected: The router refused it; nothing was accepted.
            SubmissionUnknown: It may have been accepted, now or in an earlier call: reconcile.
            AuthenticationError: The router refuses the key; nothing was accepted.
            RouterUnsupported: It answers like no router, or can't be told this spec.
        """
        handle = registration_of(self.router_url, worker)
        await self._placer.submit(self._link.operation("submission", self._link.deadline(timeout), handle), handle)
        return handle

    async def wait_until_active(self, handle: RegistrationHandle, *, timeout: float = 240.0) -> Worker:
        """Look until an accepted worker is routable, and return it as listed.

        Raises:
            RegistrationFailed: The router failed to activate it.
            RegistrationLost: The router no longer knows of it.
            IdentityConflict: Somebody removes it, another worker answers for it, or it has another type than was asked for.
            OperationTimeout: Neither is certain yet; wait again with the same handle.
            SubmissionUnknown: It isn't known to have been accepted: reconcile.
            NotSent: It was never submitted.
        """
        handle = registration_of(self.router_url, handle)
        return await self._placer.wait_until_active(self._link.deadline(timeout), handle)

    async def register(
        self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 240.0, on_existing: OnExisting = "fail"
    ) -> Worker:
        """Submit a worker, wait until it is routable, and return it as listed.

        With a handle that was submitted before, this only waits.

        Args:
            worker: What to register.
            timeout: Bound of all of it.
            on_existing: What to do when the URL is registered or being registered.

        Raises:
            AlreadyRegistered: The URL is listed, and `on_existing` is "fail"; nothing was submitted.
            CreateInProgress: Somebody is registering it, and `on_existing` is "fail".
            OperationError: As `submit` and `wait_until_active`, and for "replace" as `remove`.
            ValueError: `on_existing` is another word.
        """
        check_on_existing(on_existing)
        handle = registration_of(self.router_url, worker)
        return await self._placer.register(self._link.deadline(timeout), handle, on_existing)

    async def register_many(
        self,
        workers: Iterable[WorkerSpec],
        *,
        timeout: float = 240.0,
        on_existing: OnExisting = "fail",
        concurrency: int = 8,
    ) -> list[RegistrationResult]:
        """Register workers beside each other; one that fails holds up none of the others.

        Args:
            workers: What to register.
            timeout: Bound for each worker, from when its turn comes.
            on_existing: As for `register`.
            concurrency: How many at once. sglang-router works on 10 at once (0.2.0 on 2); the others wait there as they would here.

        Returns:
            A result for each worker, in the order given.

        Raises:
            ValueError: A URL is given twice, concurrency is below 1, or `on_existing` is another word.
        """
        check_on_existing(on_existing)
        return await register_beside(
            lambda spec: self.register(spec, timeout=timeout, on_existing=on_existing), workers, concurrency
        )

    async def reconcile(
        self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 60.0, settle_seconds: float | None = None
    ) -> Reconciliation:
        """Find out what became of a submission, without submitting anything; the handle is brought up to date.

        Where ids are URLs the router tells whether it works on one. Where they are UUIDs, a pending worker whose id was never told
        can't be seen at all; then "absent" takes `worker_startup_timeout_seconds` from the submission, unless you know better.

        Args:
            worker: The handle of the submission; with a spec alone it isn't known when it was submitted.
            timeout: How long to look; after that the state is `unresolved`.
            settle_seconds: For how long a worker that nothing is to be seen of must stay so to count as absent, or None for what
                is certain. Give a time after which your router would have activated it or given up.

        Raises:
            AuthenticationError: The router refuses the key.
            RouterUnsupported: It answers like no router.
        """
        if isinstance(worker, WorkerSpec):
            worker = RegistrationHandle(router=self.router_url, spec=worker, phase=Phase.SUBMISSION_UNKNOWN)
        handle = registration_of(self.router_url, worker)
        operation = self._link.operation("reconciliation", self._link.deadline(timeout), handle)
        return await self._reconciler.reconcile(operation, handle, settle_seconds)

    async def submit_removal(self, target: Target, *, timeout: float = 30.0) -> RemovalHandle:
        """Ask the router to remove a worker, if it has it, and return the handle; `wait_until_absent` is what follows.

        Raises:
            RemovalFailed: The router refused it.
            RemovalUnresolved: The router could not be reached.
            OperationTimeout: Nothing could be sent before the deadline.
        """
        handle = removal_of(self.router_url, target)
        await self._remover.submit(self._link.operation("removal", self._link.deadline(timeout), handle), handle)
        return handle

    async def wait_until_absent(self, handle: RemovalHandle, *, timeout: float = 60.0) -> None:
        """Look until a worker is gone for good, and ask again when a look shows that it is still there.

        Raises:
            RemovalFailed: The router refused or failed it.
            RemovalUnresolved: It isn't listed, but its activation may still be under way; or the router can't be reached.
            IdentityConflict: Another worker answers for it.
            OperationTimeout: It is still listed; wait again with the same handle.
        """
        await self._placer.remove(self._link.deadline(timeout), handle)

    async def remove(self, target: Target, *, timeout: float = 60.0) -> None:
        """Remove a worker, and return when it is gone for good; a worker that isn't there is removed already.

        Give the handle of the registration when it may still be pending: a router goes on activating what it is told to remove.

        Raises:
            OperationError: As `wait_until_absent`.
        """
        await self._placer.remove(self._link.deadline(timeout), target)

    async def watch_for_ghost(
        self, handle: RemovalHandle | RegistrationHandle, *, timeout: float | None = None
    ) -> None:
        """Go on with a removal that is unresolved, until nothing can bring the worker back; what comes up is removed.

        Args:
            handle: Of the removal, or of the registration whose removal is unresolved.
            timeout: How long to watch, or None for as long as the router may still activate the worker, and a minute.

        Raises:
            OperationError: As `wait_until_absent`.
        """
        if timeout is None:
            sent_at = handle.submitted_at_unix_seconds
            age = 0.0 if sent_at is None else max(0.0, self._link.unix_now() - sent_at)
            timeout = max(0.0, self._horizon_seconds - age) + 60.0
        await self._placer.remove(self._link.deadline(timeout), handle)

    async def replace(self, old: Target, new: WorkerSpec | RegistrationHandle, *, timeout: float = 300.0) -> Worker:
        """Put one worker in the place of another: the new one is routable before the old one goes.

        On the same URL that isn't possible: there the old one is removed, seen to be gone, and the new one registered. A handle
        of the new one that was submitted before is only waited for there: what the router has by then is the new one.

        Raises:
            OperationError: As `register` and `remove`; when the removal fails, the new worker stays active.
        """
        handle = ReplacementHandle(
            router=self.router_url,
            old=removal_of(self.router_url, old),
            new=registration_of(self.router_url, new),
        )
        going = old if isinstance(old, RegistrationHandle) else None
        return await self._placer.replace(self._link.deadline(timeout), handle, going)

    async def finish_replacement(self, handle: ReplacementHandle, *, timeout: float = 300.0) -> Worker:
        """Do what is left of a replacement, from wherever it was stopped, and return the new worker as listed.

        As `replace` does it, and where the answer to the new one's submission was lost, what became of that is found out first. Make
        a handle of your own and begin with this to have it when the call is cancelled or the process dies.

        Raises:
            OperationError: As `register` and `remove`; the handle's `left` says what is left then.
            ValueError: The handle belongs to another router.
        """
        registration_of(self.router_url, handle.new)
        removal_of(self.router_url, handle.old)
        deadline = self._link.deadline(timeout)
        if handle.new.phase is Phase.SUBMISSION_UNKNOWN:
            operation = self._link.operation("reconciliation", deadline, handle.new)
            await self._reconciler.reconcile(operation, handle.new, None)
        return await self._placer.replace(deadline, handle)

    async def update(
        self,
        worker: Worker,
        *,
        priority: int | None = None,
        cost: float | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Worker:
        """Change a listed worker in place, and return it as listed once the change shows.

        Labels are merged with those it has. Routers of the 0.2 series can't do it.

        Raises:
            ValueError: Nothing is to be changed, or a value is one that `WorkerSpec` refuses (`pydantic.ValidationError`).
            RouterUnsupported: The router can't do it.
            UpdateFailed: The router refused or failed it.
            IdentityConflict: The worker isn't listed.
            OperationTimeout: The change isn't to be seen yet.
        """
        wanted = {"priority": priority, "cost": cost, "labels": labels}
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise ValueError("update changes nothing: give priority, cost or labels")
        # The spec holds the ranges.
        spec = WorkerSpec.model_validate({"url": worker.url, **given})
        changes = {name: value for name, value in spec.request_body().items() if name in given}
        operation = Operation("update", self.router_url, self._link.deadline(timeout), worker.url)
        operation.worker_id = worker.worker_id
        return await self._updater.update(operation, worker, changes)

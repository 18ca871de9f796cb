"""The client for code without an event loop: the same calls, carried out by the same client in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Self, TypeVar

from router_lifecycle.client import RouterLifecycleClient
from router_lifecycle.dialects import Dialect
from router_lifecycle.events import EventListener
from router_lifecycle.handle import Reconciliation, RegistrationHandle, RemovalHandle, ReplacementHandle
from router_lifecycle.interfaces import Transport
from router_lifecycle.many import RegistrationResult
from router_lifecycle.models import Worker
from router_lifecycle.observation import Observation
from router_lifecycle.spec import WorkerSpec
from router_lifecycle.targets import OnExisting, Target

T = TypeVar("T")


class SyncRouterLifecycleClient:
    """`RouterLifecycleClient` for blocking code; see there for what each call does and raises.

    It may be used from any thread, also from one that has an event loop (which a call then blocks). A call that is interrupted
    (Ctrl-C) is cancelled first, so that handles stay true. Listeners are called in the client's own thread, and can't call the
    client from there.
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
    ) -> None:
        """Start the thread; nothing is sent yet. The arguments are those of `RouterLifecycleClient`."""
        self._client = RouterLifecycleClient(
            router_url,
            api_key=api_key,
            transport=transport,
            trust_env=trust_env,
            request_timeout_seconds=request_timeout_seconds,
            worker_startup_timeout_seconds=worker_startup_timeout_seconds,
            unreachable_budget_seconds=unreachable_budget_seconds,
            on_event=on_event,
        )
        self.router_url: str = self._client.router_url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="router-lifecycle", daemon=True)
        self._thread.start()
        self._closing = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread; closing again does nothing.

        A call that another thread waits for is cancelled, and raises there.
        """
        self._refuse_own_thread()
        with self._closing:
            if self._closed:
                return
            self._closed = True
        try:
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def list_workers(self, *, timeout: float = 30.0) -> list[Worker]:
        """Return the workers that the router lists."""
        return self._run(lambda: self._client.list_workers(timeout=timeout))

    def find_dialect(self, *, timeout: float = 30.0) -> Dialect:
        """Return what the router speaks."""
        return self._run(lambda: self._client.find_dialect(timeout=timeout))

    def observe(self, target: Target) -> Observation:
        """Look at a worker once."""
        return self._run(lambda: self._client.observe(target))

    def submit(self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 30.0) -> RegistrationHandle:
        """Submit a worker with one POST and return its handle."""
        return self._run(lambda: self._client.submit(worker, timeout=timeout))

    def wait_until_active(self, handle: RegistrationHandle, *, timeout: float = 240.0) -> Worker:
        """Look until an accepted worker is routable, and return it as listed."""
        return self._run(lambda: self._client.wait_until_active(handle, timeout=timeout))

    def register(
        self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 240.0, on_existing: OnExisting = "fail"
    ) -> Worker:
        """Submit a worker, wait until it is routable, and return it as listed."""
        return self._run(lambda: self._client.register(worker, timeout=timeout, on_existing=on_existing))

    def register_many(
        self,
        workers: Iterable[WorkerSpec],
        *,
        timeout: float = 240.0,
        on_existing: OnExisting = "fail",
        concurrency: int = 8,
    ) -> list[RegistrationResult]:
        """Register workers beside each other, with a result for each."""
        return self._run(
            lambda: self._client.register_many(
                workers, timeout=timeout, on_existing=on_existing, concurrency=concurrency
            )
        )

    def reconcile(
        self, worker: WorkerSpec | RegistrationHandle, *, timeout: float = 60.0, settle_seconds: float | None = None
    ) -> Reconciliation:
        """Find out what became of a submission, without submitting anything."""
        return self._run(lambda: self._client.reconcile(worker, timeout=timeout, settle_seconds=settle_seconds))

    def submit_removal(self, target: Target, *, timeout: float = 30.0) -> RemovalHandle:
        """Ask the router to remove a worker and return the handle."""
        return self._run(lambda: self._client.submit_removal(target, timeout=timeout))

    def wait_until_absent(self, handle: RemovalHandle, *, timeout: float = 60.0) -> None:
        """Look until a worker is gone for good."""
        self._run(lambda: self._client.wait_until_absent(handle, timeout=timeout))

    def remove(self, target: Target, *, timeout: float = 60.0) -> None:
        """Remove a worker, and return when it is gone for good."""
        self._run(lambda: self._client.remove(target, timeout=timeout))

    def watch_for_ghost(self, handle: RemovalHandle | RegistrationHandle, *, timeout: float | None = None) -> None:
        """Go on with a removal that is unresolved, until nothing can bring the worker back."""
        self._run(lambda: self._client.watch_for_ghost(handle, timeout=timeout))

    def replace(self, old: Target, new: WorkerSpec | RegistrationHandle, *, timeout: float = 300.0) -> Worker:
        """Put one worker in the place of another."""
        return self._run(lambda: self._client.replace(old, new, timeout=timeout))

    def finish_replacement(self, handle: ReplacementHandle, *, timeout: float = 300.0) -> Worker:
        """Do what is left of a replacement, from wherever it was stopped."""
        return self._run(lambda: self._client.finish_replacement(handle, timeout=timeout))

    def update(
        self,
        worker: Worker,
        *,
        priority: int | None = None,
        cost: float | None = None,
        labels: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Worker:
        """Change a listed worker in place, and return it as listed once the change shows."""
        return self._run(
            lambda: self._client.update(worker, priority=priority, cost=cost, labels=labels, timeout=timeout)
        )

    def _run(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Carry out a call in the client's thread; when the wait for it is interrupted, cancel it and see it end."""
        self._refuse_own_thread()
        outcome: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            tasks.append(self._loop.create_task(call()))
            tasks[0].add_done_callback(end)

        def end(task: asyncio.Task[T]) -> None:
            if task.cancelled():
                closed = (
                    f"the client of {self.router_url} was closed during this call; its handle tells how far it came"
                )
                outcome.set_exception(RuntimeError(closed))
            elif (error := task.exception()) is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(task.result())

        def cancel() -> None:
            tasks[0].cancel()

        with self._closing:
            if self._closed:
                raise RuntimeError(f"the client of {self.router_url} is closed: make a new one")
            self._loop.call_soon_threadsafe(begin)
        try:
            return outcome.result()
        except BaseException:
            if not outcome.done():
                self._loop.call_soon_threadsafe(cancel)
                wait((outcome,))
            raise

    async def _end(self) -> None:
        """Cancel the calls under way, see them end, and close the client."""
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._client.aclose()

    def _refuse_own_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                f"the client of {self.router_url} can't be called by its own listener, which it waits for: "
                "call it from another thread"
            )

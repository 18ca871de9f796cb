"""What the client's tests stand on: a fake router with a client of it on one clock, and a transport that answers by script."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

import httpx

from router_lifecycle import (
    Answer,
    HttpxTransport,
    LifecycleEvent,
    Observation,
    RecordState,
    Request,
    RouterLifecycleClient,
    WorkerRow,
    WorkerSpec,
)
from router_lifecycle.testing import EPOCH_SECONDS, FakeEngine, FakeRouter, Fault, ManualClock, RouterOptions

T = TypeVar("T")

ROUTER = "http://router:30000"
URL = "http://10.0.0.1:30000"
OTHER = "http://10.0.0.2:30000"
SPEC = WorkerSpec(url=URL)
UUID = "3c9587eb-7afe-4a95-af13-3c3e7a029c88"
SMG = "smg-1.13.0"
VERSIONS = ("0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", SMG)


class Bench:
    """A fake router and clients of it, on one manual clock; time passes while somebody awaits through `run`."""

    def __init__(self, version: str = "0.3.2", *engines: FakeEngine, options: RouterOptions | None = None) -> None:
        self.clock = ManualClock()
        self.engines = engines or (FakeEngine(URL),)
        self.router = FakeRouter(version, engines=self.engines, clock=self.clock, options=options)
        self.events: list[LifecycleEvent] = []

    def client(self, *, api_key: str | None = None, **options: Any) -> RouterLifecycleClient:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.router), trust_env=False)
        return RouterLifecycleClient(
            ROUTER,
            transport=HttpxTransport(ROUTER, api_key=api_key, client=http),
            clock=self.clock,
            sleep=self.clock.sleep,
            wall_clock=lambda: EPOCH_SECONDS + self.clock(),
            random=random.Random(0),
            **{"on_event": self.events.append, **options},
        )

    async def run(self, awaitable: Awaitable[T]) -> T:
        return await self.clock.run(awaitable)

    async def until_asked(self, method: str) -> None:
        """Wait until a request of that method has reached the router; no time passes."""
        arrived = asyncio.Event()
        take = self.router.faults.take

        def watch(asked: str, path: str) -> Fault | None:
            if asked == method:
                arrived.set()
            return take(asked, path)

        self.router.faults.take = watch  # type: ignore[method-assign, assignment]
        await arrived.wait()

    async def pass_time(self, seconds: float) -> None:
        await self.clock.run(self.clock.sleep(seconds))

    def sent(self, method: str) -> list[str]:
        return [request.path for request in self.router.requests if request.method == method]

    @property
    def posts(self) -> int:
        return self.sent("POST").count("/workers")

    @property
    def routable(self) -> list[str]:
        return [worker.url for worker in self.router.workers if worker.routable]


def answer(status: int, body: object = None, **headers: str) -> Answer:
    """Return an answer in JSON, or with a text as it is."""
    import json

    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return Answer(status, text, {name.replace("_", "-"): value for name, value in headers.items()})


Step = Answer | BaseException | Callable[[Request], Answer]


class Script:
    """A transport that answers each kind of request from its own queue; the last answer of a queue repeats."""

    def __init__(self, clock: ManualClock, answers: Mapping[str, Iterable[Step]]) -> None:
        self.clock = clock
        self.requests: list[Request] = []
        self._queues = {key: deque(steps) for key, steps in answers.items()}

    async def send(self, request: Request, *, timeout_seconds: float) -> Answer:
        assert timeout_seconds > 0
        self.requests.append(request)
        key = f"{request.method} {request.path}"
        queue = self._queues.get(key) or self._queues.get(request.method)
        if not queue:
            raise AssertionError(f"the script has no answer to {key}")
        step = queue.popleft() if len(queue) > 1 else queue[0]
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, Answer) else step(request)

    async def aclose(self) -> None:
        """Nothing to close."""

    def count(self, method: str) -> int:
        return sum(request.method == method for request in self.requests)


NO_UUID = answer(400, {"error": "Invalid worker_id 'not-a-uuid' (expected UUID)", "code": "BAD_REQUEST"})
NO_SUCH = answer(404, {"error": "Worker x not found", "code": "WORKER_NOT_FOUND"})
SMG_404 = answer(404, {"error": {"code": "unknown_url", "message": "Invalid URL"}})
PROBES: dict[str, dict[str, list[Step]]] = {
    "url": {"GET /workers/not-a-uuid": [NO_SUCH]},
    "uuid": {"GET /workers/not-a-uuid": [NO_UUID], "GET /router-lifecycle-probe": [answer(404)]},
    "smg": {"GET /workers/not-a-uuid": [NO_UUID], "GET /router-lifecycle-probe": [SMG_404]},
}
ACCEPTED = answer(
    202, {"status": "accepted", "worker_id": UUID, "url": URL, "location": f"/workers/{UUID}", "message": "queued"}
)
DELETED = answer(202, {"status": "accepted", "worker_id": UUID, "message": "queued"})


def listing(*rows: object) -> Answer:
    return answer(200, {"workers": list(rows), "total": len(rows), "stats": {}})


def row(url: str = URL, *, healthy: bool = True, worker_id: str = UUID, **more: object) -> dict[str, object]:
    return {"id": worker_id, "url": url, "is_healthy": healthy, "worker_type": "regular", "priority": 50, **more}


def job(
    kind: str = "AddWorker", status: str = "processing", message: str | None = None, at: int = 1
) -> dict[str, object]:
    return {"job_type": kind, "worker_url": URL, "status": status, "message": message, "timestamp": at}


def record(
    kind: str = "AddWorker", status: str = "processing", message: str | None = None, worker_id: str = UUID
) -> Answer:
    """Return the answer about a worker of which only a job is known."""
    unknown = row(healthy=False, worker_id=worker_id, worker_type="unknown", job_status=job(kind, status, message))
    return answer(200, unknown)


def scripted(
    dialect: str, answers: Mapping[str, Iterable[Step]], **options: Any
) -> tuple[ManualClock, Script, RouterLifecycleClient]:
    """Return a clock, a script that also answers the probes of a dialect, and a client of it."""
    clock = ManualClock()
    script = Script(clock, {**PROBES[dialect], **answers})
    client = RouterLifecycleClient(
        ROUTER,
        transport=script,
        clock=clock,
        sleep=clock.sleep,
        wall_clock=lambda: EPOCH_SECONDS + clock(),
        random=random.Random(0),
        **options,
    )
    return clock, script, client


def seen(record: dict[str, object] | None = None, *rows: dict[str, object], listed: bool = True) -> Observation:
    """Return a look: the answer about the worker, None for a 404, and its entries in the list."""
    return Observation(
        seen_at_unix_seconds=0.0,
        record_state=RecordState.PRESENT if record else RecordState.ABSENT,
        record=WorkerRow.model_validate(record) if record else None,
        rows=tuple(WorkerRow.model_validate(entry) for entry in rows) if listed else None,
    )

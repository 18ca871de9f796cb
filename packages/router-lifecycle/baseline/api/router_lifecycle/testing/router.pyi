from collections.abc import Callable as Callable, Iterable
from dataclasses import dataclass
from router_lifecycle.testing._answers import Answer as Answer
from router_lifecycle.testing._asgi import Receive as Receive, Scope as Scope, Send as Send, disconnected as disconnected, read_request as read_request, send_answer as send_answer
from router_lifecycle.testing._routes import Request as Request, answer_to as answer_to
from router_lifecycle.testing._state import RegistryEvent as RegistryEvent, RouterOptions as RouterOptions, RouterState as RouterState
from router_lifecycle.testing.clock import ManualClock as ManualClock
from router_lifecycle.testing.engine import FakeEngine as FakeEngine, engine_address as engine_address
from router_lifecycle.testing.faults import Fault as Fault, FaultPlan as FaultPlan, SILENCE_SECONDS as SILENCE_SECONDS, Stage as Stage
from router_lifecycle.testing.model import RouterModel as RouterModel
from router_lifecycle.testing.profiles import PROFILES as PROFILES, RouterProfile as RouterProfile
from typing import Any

EPOCH_SECONDS: float

@dataclass(frozen=True, slots=True)
class SeenRequest:
    at_seconds: float
    method: str
    path: str
    body: bytes
    authorization: str | None
    status: int | None
    router_status: int | None
    def json(self) -> Any: ...

@dataclass(frozen=True, slots=True)
class ListedWorker:
    worker_id: str
    url: str
    routable: bool
    priority: int

class FakeRouter:
    profile: RouterProfile
    clock: Callable[[], float]
    options: RouterOptions
    faults: FaultPlan
    requests: list[SeenRequest]
    aborts: dict[tuple[str, int], Callable[[], None]]
    def __init__(self, version: str = '0.3.2', *, engines: Iterable[FakeEngine] = (), clock: Callable[[], float] | None = None, options: RouterOptions | None = None) -> None: ...
    def add_engine(self, engine: FakeEngine) -> None: ...
    def stop(self) -> None: ...
    def restart(self) -> None: ...
    @property
    def workers(self) -> list[ListedWorker]: ...
    @property
    def events(self) -> list[RegistryEvent]: ...
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

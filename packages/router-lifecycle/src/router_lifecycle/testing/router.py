"""The fake router: the pure model behind an ASGI application, for a client in the same process or over a socket."""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpx

from router_lifecycle.testing._answers import Answer
from router_lifecycle.testing._asgi import Receive, Scope, Send, disconnected, read_request, send_answer
from router_lifecycle.testing._routes import Request, answer_to
from router_lifecycle.testing._state import RegistryEvent, RouterOptions, RouterState
from router_lifecycle.testing.clock import ManualClock
from router_lifecycle.testing.engine import FakeEngine, engine_address
from router_lifecycle.testing.faults import SILENCE_SECONDS, Fault, FaultPlan, Stage
from router_lifecycle.testing.model import RouterModel
from router_lifecycle.testing.profiles import PROFILES, RouterProfile

EPOCH_SECONDS = 1_700_000_000.0
"""The wall clock at the zero of the router's clock."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request that reached the fake, or was lost in front of it.

    Attributes:
        at_seconds: When it was sent, on the router's clock.
        method: GET, POST, ...
        path: As it was sent, percent-encoded, without the query.
        body: What was sent.
        authorization: The header, or None.
        status: The status that was sent back, or None when nothing was.
        router_status: The status that the router itself answered with, whatever became of its answer; None when it never saw the
            request or gave no answer.
    """

    at_seconds: float
    method: str
    path: str
    body: bytes
    authorization: str | None
    status: int | None
    router_status: int | None

    def json(self) -> Any:
        """Return the body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class ListedWorker:
    """What the router really has in its list, whatever it answers.

    Attributes:
        worker_id: Its id.
        url: As it is listed, with `@rank` for a rank.
        routable: Whether requests go there: healthy and not draining.
        priority: As posted; give each registration one of its own to tell whose entry this is.
    """

    worker_id: str
    url: str
    routable: bool
    priority: int


class FakeRouter:
    """A router of a given release, with the engines that it can reach. It is an ASGI application.

    In process, give a client `httpx.ASGITransport(app=router)`; over a socket, use `serve`. It is for one event loop and thread.
    Nothing happens by itself: what is due by the clock happens when the next request or look at the router comes.
    """

    def __init__(
        self,
        version: str = "0.3.2",
        *,
        engines: Iterable[FakeEngine] = (),
        clock: Callable[[], float] | None = None,
        options: RouterOptions | None = None,
    ) -> None:
        """Start a router.

        Args:
            version: One of `PROFILES`.
            engines: The engines that it can reach; every other address refuses the connection.
            clock: The time in seconds, such as a `ManualClock` or `time.monotonic`; a `ManualClock` of its own by default.
            options: The flags that it was started with.

        Raises:
            ValueError: The version isn't known, or two engines have one address.
        """
        if version not in PROFILES:
            raise ValueError(f"no profile for the router {version!r}: known are {', '.join(PROFILES)}")
        self.profile: RouterProfile = PROFILES[version]
        self.clock: Callable[[], float] = ManualClock() if clock is None else clock
        self._sleep = self.clock.sleep if isinstance(self.clock, ManualClock) else asyncio.sleep
        self.options: RouterOptions = RouterOptions() if options is None else options
        self.faults: FaultPlan = FaultPlan()
        self.requests: list[SeenRequest] = []
        self.aborts: dict[tuple[str, int], Callable[[], None]] = {}
        """How to break the connection of a peer; filled by whoever serves the fake over sockets."""
        self._engines: dict[str, FakeEngine] = {}
        for engine in engines:
            self.add_engine(engine)
        self._events: list[RegistryEvent] = []
        self._is_up = True
        self._starts = 0
        self._model = self._start()

    def add_engine(self, engine: FakeEngine) -> None:
        """Let the router reach one more engine.

        Raises:
            ValueError: Its URL names no address, or another engine has it.
        """
        address = engine_address(engine.url)
        if address is None or address in self._engines:
            why = "it names no host and port" if address is None else "another engine is there"
            raise ValueError(f"the engine {engine.url!r} can't be added: {why}")
        self._engines[address] = engine

    def stop(self) -> None:
        """End the process: connections are refused, and everything that it held is lost."""
        if self._is_up:
            self._settled_model().state.end()
        self._is_up = False

    def restart(self) -> None:
        """Start a new process, which holds nothing; ids are never given twice."""
        self.stop()
        self._is_up = True
        self._starts += 1
        self._model = self._start()

    @property
    def workers(self) -> list[ListedWorker]:
        """What is listed now, ranks one by one; nothing while the router is stopped."""
        entries = self._settled_model().state.entries.values()
        return [
            ListedWorker(entry.id, entry.url, entry.is_healthy and not entry.is_draining, entry.posted.priority)
            for entry in entries
        ]

    @property
    def events(self) -> list[RegistryEvent]:
        """What happened to listed workers until now, across restarts; the end of a process ends what it listed."""
        self._settled_model()
        return self._events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as an ASGI application."""
        if scope["type"] != "http":
            raise RuntimeError(f"the fake router speaks HTTP only, not {scope['type']!r}")
        request = await read_request(scope, receive)
        if not self._is_up:
            self._see(request, None, None)
            await self._break(scope, receive, httpx.ConnectError("the fake router is stopped: connection refused"))
            return
        fault = self.faults.take(request.method, request.path) or Fault(stage=Stage.AFTER)
        own = answer_to(self._settled_model(), request) if fault.stage is Stage.AFTER else None
        answer = own
        if fault.status is not None:
            answer = Answer(fault.status, fault.body, fault.headers)
        elif fault.reset or fault.silent_seconds is not None:
            answer = None
        self._see(request, own, answer)
        await self._sleep(fault.delay_seconds)
        if answer is not None:
            await send_answer(send, answer)
        elif fault.reset:
            await self._break(scope, receive, httpx.ReadError("the fake router reset the connection"))
        else:
            await self._say_nothing(scope, receive, fault.silent_seconds or SILENCE_SECONDS)

    async def _break(self, scope: Scope, receive: Receive, error: httpx.TransportError) -> None:
        """Break the connection; in process the client sees what httpx would have raised."""
        abort = self.aborts.get(scope["client"])
        if abort is None:
            raise error
        abort()
        await disconnected(receive)

    async def _say_nothing(self, scope: Scope, receive: Receive, seconds: float) -> None:
        """Never answer."""
        if scope["client"] in self.aborts:
            await disconnected(receive)
            return
        await self._sleep(seconds)
        raise httpx.ReadTimeout(f"the fake router gave no answer within {seconds:g} s")

    def _start(self) -> RouterModel:
        seed = f"{self.options.seed}/{self._starts}"
        return RouterModel(
            RouterState(self.profile, self.options, self._engines, self.clock(), EPOCH_SECONDS, seed, self._events)
        )

    def _settled_model(self) -> RouterModel:
        self._model.state.settle(self.clock())
        return self._model

    def _see(self, request: Request, own: Answer | None, sent: Answer | None) -> None:
        self.requests.append(
            SeenRequest(
                at_seconds=self.clock(),
                method=request.method,
                path=request.path,
                body=request.body,
                authorization=request.headers.get("authorization"),
                status=None if sent is None else sent.status,
                router_status=None if own is None else own.status,
            )
        )

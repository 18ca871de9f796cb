"""The way to one router: bounded requests, its dialect, and looks at a worker."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from router_lifecycle._operation import Operation
from router_lifecycle._polling import Deadline, Looked, Poller
from router_lifecycle.dialects import Dialect, UnknownRouterError, probe
from router_lifecycle.errors import (
    AuthenticationError,
    OperationPhase,
    RouterUnsupported,
    TransportError,
)
from router_lifecycle.events import EventListener, LifecycleEvent
from router_lifecycle.exchange import Answer, Request
from router_lifecycle.handle import RegistrationHandle, RemovalHandle
from router_lifecycle.interfaces import Transport
from router_lifecycle.models import WorkerRow, by_rank
from router_lifecycle.observation import Observation, RecordState

# One answer that no router gives can come from something in between; so many in a row do not.
_STRANGE_LOOKS_ALLOWED = 5
_SHORTEST_REQUEST_SECONDS = 0.05


@dataclass(slots=True)
class _Reading:
    """What a look has gathered so far."""

    faults: list[str] = field(default_factory=list)
    asked: int = 0
    unreachable: int = 0
    unanswered: int = 0
    strange: bool = False
    retry_after_seconds: float | None = None


class Link:
    """Carries out requests and looks, within the bounds of an operation."""

    def __init__(
        self,
        router: str,
        transport: Transport,
        *,
        request_timeout_seconds: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        wall_clock: Callable[[], float],
        random: Random,
        on_event: EventListener | None,
    ) -> None:
        """Take what the client was given."""
        self.router = router
        self._transport = transport
        self._request_timeout = request_timeout_seconds
        self._clock = clock
        self._sleep = sleep
        # Read once: a wall clock that is set must not change the age of anything.
        self._epoch = wall_clock() - clock()
        self._on_event = on_event
        self._dialect: Dialect | None = None
        self._poller = Poller(clock, sleep, random)

    async def rest(self, seconds: float, operation: Operation) -> None:
        """Wait, but not beyond the deadline."""
        await self._sleep(max(0.0, min(seconds, operation.deadline.at_seconds - self.now())))

    def now(self) -> float:
        """Return seconds on the clock that never steps."""
        return self._clock()

    def unix_now(self) -> float:
        """Return seconds since the Unix epoch."""
        return self._epoch + self._clock()

    def deadline(self, timeout_seconds: float) -> Deadline:
        """Return the deadline of an operation that begins now.

        Raises:
            ValueError: The time isn't above 0.
        """
        if not timeout_seconds > 0:
            raise ValueError(f"timeout={timeout_seconds} is not allowed: an operation needs more than 0 seconds")
        now = self._clock()
        return Deadline(now, now + timeout_seconds)

    def operation(
        self, phase: OperationPhase, deadline: Deadline, handle: RegistrationHandle | RemovalHandle
    ) -> Operation:
        """Return an operation on the worker of a handle."""
        return Operation(phase, self.router, deadline, handle.url, handle)

    async def poll(
        self,
        look: Callable[[], Awaitable[Looked[Observation]]],
        operation: Operation,
        *,
        wait_seconds: Callable[[float], float] | None = None,
    ) -> Observation | None:
        """Look until there is a value; None when the deadline came first. Waits are those of `Poller.until`."""
        return await self._poller.until(look, operation.deadline, wait_seconds=wait_seconds)

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    def tell(self, operation: Operation, kind: str, detail: str) -> None:
        """Tell the listener what happened, once for each change."""
        if operation.told == kind or self._on_event is None or operation.worker_url is None or operation.handle is None:
            return
        operation.told = kind
        self._on_event(
            LifecycleEvent(
                operation.phase,
                str(kind),
                self.router,
                operation.worker_url,
                self._clock() - operation.deadline.began_seconds,
                detail,
                operation.handle,
            )
        )

    async def send(
        self, request: Request, operation: Operation, *, waits: bool = False, any_status: bool = False
    ) -> Answer:
        """Send one request within the bounds of a request and of the operation.

        Args:
            request: What to ask.
            operation: What it is for.
            waits: Whether the answer comes only when the work is done, so that only the operation bounds it.
            any_status: Whether 401 and 403 are returned too.

        Raises:
            TransportError: There is no answer.
            AuthenticationError: The answer is 401 or 403.
        """
        left = operation.deadline.at_seconds - self._clock()
        timeout = max(left if waits else min(self._request_timeout, left), _SHORTEST_REQUEST_SECONDS)
        try:
            answer = await self._bounded(request, timeout)
        except TransportError as error:
            if not error.maybe_sent:
                self.forget_dialect()
            raise
        if answer.status in (401, 403) and not any_status:
            raise operation.error(
                AuthenticationError,
                f"{request.method} {request.path} was answered with {answer.excerpt()}",
                safe_to_resubmit=operation.nothing_was_submitted,
            )
        return answer

    async def _bounded(self, request: Request, timeout_seconds: float) -> Answer:
        """Hold every transport to the bound, on the clock that the caller gave."""
        sending = asyncio.ensure_future(self._transport.send(request, timeout_seconds=timeout_seconds))
        timer = asyncio.ensure_future(self._sleep(timeout_seconds))
        try:
            await asyncio.wait({sending, timer}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                return sending.result()
        finally:
            for task in (sending, timer):
                task.cancel()
            await asyncio.gather(sending, timer, return_exceptions=True)
        raise TransportError(f"no answer within {timeout_seconds:g} s", maybe_sent=True)

    def forget_dialect(self) -> None:
        """Find out again what the router speaks: it may have been replaced."""
        self._dialect = None

    def spoken(self) -> Dialect | None:
        """Return what the router speaks as far as was found, or None."""
        return self._dialect

    async def look(
        self,
        operation: Operation,
        url: str,
        worker_id: str | None,
        *,
        is_enough: Callable[[WorkerRow], bool] | None = None,
    ) -> Observation:
        """Ask for one worker, then for the list; what can't be read is unknown in what comes back.

        The list comes last: an entry that was made or dropped in between is then seen as it is.

        Args:
            operation: Bounds the requests.
            url: The worker.
            worker_id: Its id, or None to look for it by URL alone.
            is_enough: Whether the answer about the worker says all, so that the list isn't asked for; None to ask for it always.

        Raises:
            AuthenticationError: 401 or 403.
            RouterUnsupported: It has answered like no router several times in a row.
        """
        reading = _Reading()
        dialect = await self._find_dialect(operation, reading)
        if dialect is None:
            seen = self._observation(reading)
        else:
            seen = await self._look(operation, dialect, url, worker_id, reading, is_enough)
        operation.seen = seen
        if seen.unanswered and not seen.unreachable:
            self.tell(operation, "unanswered", seen.faults[-1])
        self._count_strange(operation, reading)
        return seen

    async def glance(self, operation: Operation, url: str) -> Observation:
        """Read the list alone; what isn't in it leaves what an earlier look has told in the operation."""
        listed = await self._read_all(operation)
        seen = Observation(
            seen_at_unix_seconds=self.unix_now(),
            rows=None if listed.value is None else _entries_of(url, listed.value),
            retry_after_seconds=listed.retry_after_seconds,
        )
        if seen.rows:
            operation.seen = seen
        return seen

    async def poll_list(self, operation: Operation) -> tuple[WorkerRow, ...] | None:
        """Read the list until that works; None when the deadline came first."""
        return await self._poller.until(lambda: self._read_all(operation), operation.deadline)

    async def _read_all(self, operation: Operation) -> Looked[tuple[WorkerRow, ...]]:
        """Read the list once; no value when that didn't work."""
        reading = _Reading()
        dialect = await self._find_dialect(operation, reading)
        rows = await self._read_list(operation, dialect, reading) if dialect is not None else None
        if rows is None:
            operation.seen = self._observation(reading)
        self._count_strange(operation, reading)
        return Looked(rows, reading.retry_after_seconds)

    async def _look(
        self,
        operation: Operation,
        dialect: Dialect,
        url: str,
        worker_id: str | None,
        reading: _Reading,
        is_enough: Callable[[WorkerRow], bool] | None,
    ) -> Observation:
        state, record = RecordState.UNREAD, None
        if worker_id is not None or dialect.finds_by_url:
            state, record = await self._read_record(operation, dialect.show(url, worker_id), reading)
        if record is not None and is_enough is not None and is_enough(record):
            return self._observation(reading, state, record)
        rows = None
        # Who has left one request without an answer would take as long for the next.
        if not reading.unanswered:
            rows = await self._read_list(operation, dialect, reading)
        mine = None if rows is None else _entries_of(url, rows)
        if worker_id is None and not dialect.finds_by_url and mine and mine[0].rank is None:
            # Only the list knew the id.
            state, record = await self._read_record(operation, dialect.show(url, mine[0].id), reading)
        return self._observation(reading, state, record, mine)

    async def _read_record(
        self, operation: Operation, request: Request | None, reading: _Reading
    ) -> tuple[RecordState, WorkerRow | None]:
        answer = await self._ask(operation, request, reading) if request is not None else None
        if answer is None:
            return RecordState.UNREAD, None
        body = answer.json_object()
        if answer.status == 200 and body is not None and isinstance(body.get("url"), str):
            return RecordState.PRESENT, WorkerRow.model_validate(body)
        if answer.status == 404 and answer.error_code() == "WORKER_NOT_FOUND":
            return RecordState.ABSENT, None
        if answer.status == 400 and answer.error_code() is not None:
            # An id of another kind: this is not the router that gave it.
            self.forget_dialect()
            return RecordState.ABSENT, None
        self._strange(answer, reading)
        return RecordState.UNREAD, None

    async def _read_list(
        self, operation: Operation, dialect: Dialect, reading: _Reading
    ) -> tuple[WorkerRow, ...] | None:
        answer = await self._ask(operation, dialect.list_all(), reading)
        if answer is None:
            return None
        rows = dialect.read_list(answer) if answer.status == 200 else None
        if rows is None:
            self._strange(answer, reading)
        return rows

    async def _find_dialect(self, operation: Operation, reading: _Reading) -> Dialect | None:
        """Return what the router speaks, or None, with the reason in the reading, when it can't be found now."""
        if self._dialect is not None:
            return self._dialect
        probing = probe()
        request = next(probing)
        try:
            while True:
                answer = await self._ask(operation, request, reading)
                if answer is None:
                    return None
                request = probing.send(answer)
        except StopIteration as found:
            self._dialect = found.value
        except UnknownRouterError as error:
            reading.faults.append(f"no router that is known answers like this: {error}")
            reading.strange = True
        finally:
            probing.close()
        return self._dialect

    async def _ask(self, operation: Operation, request: Request, reading: _Reading) -> Answer | None:
        """Return the answer, or None, with the reason in the reading, when there is none that says anything."""
        reading.asked += 1
        try:
            answer = await self.send(request, operation)
        except TransportError as error:
            reading.unanswered += 1
            reading.unreachable += not error.maybe_sent
            reading.faults.append(f"{request.method} {request.path}: {error}")
            return None
        if answer.status in (408, 425, 429) or answer.status >= 500:
            reading.retry_after_seconds = answer.retry_after_seconds(self.unix_now())
            reading.faults.append(f"{request.method} {request.path}: {answer.excerpt()}")
            return None
        return answer

    def _strange(self, answer: Answer, reading: _Reading) -> None:
        self.forget_dialect()
        reading.faults.append(f"not understood: {answer.excerpt()}")
        reading.strange = True

    def _count_strange(self, operation: Operation, reading: _Reading) -> None:
        if not reading.strange:
            # Silence says nothing about who is there.
            operation.strange_looks = 0 if not reading.faults else operation.strange_looks
            return
        operation.strange_looks += 1
        if operation.strange_looks >= _STRANGE_LOOKS_ALLOWED:
            raise operation.error(
                RouterUnsupported,
                f"{operation.strange_looks} looks in a row were answered as no known router does: {reading.faults[-1]}",
                safe_to_resubmit=operation.nothing_was_submitted,
            )

    def _observation(
        self,
        reading: _Reading,
        state: RecordState = RecordState.UNREAD,
        record: WorkerRow | None = None,
        rows: tuple[WorkerRow, ...] | None = None,
    ) -> Observation:
        return Observation(
            seen_at_unix_seconds=self.unix_now(),
            record_state=state,
            record=record,
            rows=rows,
            faults=tuple(reading.faults),
            unreachable=reading.asked > 0 and reading.unreachable == reading.asked,
            unanswered=reading.asked > 0 and reading.unanswered == reading.asked,
            retry_after_seconds=reading.retry_after_seconds,
        )


def _entries_of(url: str, rows: tuple[WorkerRow, ...]) -> tuple[WorkerRow, ...]:
    return by_rank(row for row in rows if row.base_url == url)

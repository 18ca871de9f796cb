"""The Worker's half of the stream's rules: what each frame of a Router does. Time is an argument; nothing is awaited."""

from collections.abc import Callable

from loadmonitor_proto import RegisterRequest, RouterFrame, StreamErrorCode, UpdateConfigRequest
from loadmonitor_worker._journal import SessionJournal
from loadmonitor_worker._report import acknowledgement_frame, error_frame
from loadmonitor_worker._session import Session
from loadmonitor_worker._table import SessionTable
from loadmonitor_worker.config import ReporterConfig

_MIN_LEASE_TTL_MS = 2
"""The shortest lease whose `renew_after_ms` is still shorter than itself."""
_LONGEST_ROUTER_ID = 256
_MS = 1_000_000


class Monitor:
    """The rules of `LoadMonitorService.Monitor` over all streams of one reporter.

    Attributes:
        closing: Set once the reporter shuts down; from then on every stream is told SHUTTING_DOWN.
    """

    def __init__(
        self,
        config: ReporterConfig,
        source_instance_id: str,
        table: SessionTable,
        journal: SessionJournal,
        on_change: Callable[[], None],
    ) -> None:
        """Serve `table`, and tell `journal`; `on_change` is called whenever the next wake-up may have moved."""
        self._config = config
        self._source_instance_id = source_instance_id
        self._table = table
        self._journal = journal
        self._on_change = on_change
        self.closing = False

    def stream_opened(self, session: Session) -> None:
        """Take up a new stream, or turn it away."""
        self._table.open_streams.add(session)
        if self.closing:
            self.fail(session, StreamErrorCode.SHUTTING_DOWN, "this worker is shutting down")
        elif len(self._table.open_streams) > 2 * self._table.max_sessions:
            message = f"{2 * self._table.max_sessions} streams are open, twice as many as this worker serves"
            self.fail(session, StreamErrorCode.RESOURCE_EXHAUSTED, message)

    def stream_closed(self, session: Session) -> None:
        """Forget a stream whose RPC is over."""
        self.stop(session)
        self._table.open_streams.discard(session)

    def shut_down(self) -> None:
        """Tell every stream that the Worker goes away."""
        self.closing = True
        for session in list(self._table.open_streams):
            self.fail(session, StreamErrorCode.SHUTTING_DOWN, "this worker is shutting down")

    def fail(self, session: Session, code: StreamErrorCode, message: str) -> None:
        """End a stream with an error frame."""
        if not session.ended:
            self._journal.failed(session, code, message)
        self._table.remove(session)
        session.end(error_frame(code, message))
        self._on_change()

    def stop(self, session: Session, *, asked: bool = False) -> None:
        """End a stream without an error frame, because its Router asked for it or is gone."""
        if not session.ended:
            self._journal.left(session, stopped=asked)
        self._table.remove(session)
        session.end(None)
        self._on_change()

    def frame(self, session: Session, frame: RouterFrame, now_ns: int) -> None:
        """Act on one frame of the Router; a frame that breaks a rule ends the stream."""
        if session.ended:
            return
        payload = frame.WhichOneof("payload")
        if not session.admit_frame(now_ns, self._config.max_frames_per_second):
            message = f"more than {self._config.max_frames_per_second} frames a second: send fewer"
            self.fail(session, StreamErrorCode.RESOURCE_EXHAUSTED, message)
        elif payload is None:
            self.fail(session, StreamErrorCode.INVALID_ARGUMENT, "the frame carries no payload")
        elif payload == "register":
            self._register(session, frame.register, now_ns)
        elif session.router_id is None:
            message = f"the first frame is {payload!r}: 'register' must be"
            self.fail(session, StreamErrorCode.INVALID_FIRST_FRAME, message)
        elif payload == "update_config":
            self._update(session, frame.update_config, now_ns)
        elif payload == "keep_alive":
            keep_alive = frame.keep_alive
            if keep_alive.HasField("acked_sequence_id") and not session.acknowledge(keep_alive.acked_sequence_id):
                message = f"acked_sequence_id={keep_alive.acked_sequence_id} was never sent on this stream"
                self.fail(session, StreamErrorCode.INVALID_ARGUMENT, message)
                return
            if session.renew(now_ns):
                self._on_change()
        else:
            self.stop(session, asked=True)

    def _register(self, session: Session, request: RegisterRequest, now_ns: int) -> None:
        problem = _register_problem(request, session.router_id)
        if problem is not None:
            self.fail(session, StreamErrorCode.INVALID_ARGUMENT, problem)
            return
        interval_ms = self._granted_interval_ms(request.report_interval_ms)
        lease_ms = self._granted_lease_ms(request.lease_ttl_ms)
        if session.router_id is not None:
            session.change(interval_ns=interval_ms * _MS, lease_ns=lease_ms * _MS, now_ns=now_ns)
            self._on_change()
            return
        refusal = None if session.refusal is None else session.refusal(request.router_id)
        if refusal is not None:
            self.fail(session, StreamErrorCode.PERMISSION_DENIED, refusal)
            return
        older = self._table.holder(request.router_id)
        # A stream that ended but lingers on a blocked peer still costs what a session costs.
        taken = sum(stream.router_id is not None for stream in self._table.open_streams)
        if taken - (older is not None) >= self._table.max_sessions:
            message = f"this worker serves {self._table.max_sessions} routers, its maximum"
            self.fail(session, StreamErrorCode.RESOURCE_EXHAUSTED, message)
            return
        if older is not None:
            message = f"another stream registered router_id {request.router_id!r}"
            self.fail(older, StreamErrorCode.SESSION_REPLACED, message)
        session.open(
            request.router_id,
            interval_ns=interval_ms * _MS,
            lease_ns=lease_ms * _MS,
            max_unacked=request.max_unacked_reports if request.HasField("max_unacked_reports") else None,
            anchor_ns=now_ns if self._config.alignment == "registration" else 0,
            now_ns=now_ns,
        )
        self._table.add(session)
        self._journal.registered(session, interval_ms=interval_ms, lease_ms=lease_ms)
        session.send(
            acknowledgement_frame(
                self._config, self._source_instance_id, report_interval_ms=interval_ms, lease_ttl_ms=lease_ms
            )
        )
        self._on_change()

    def _update(self, session: Session, request: UpdateConfigRequest, now_ns: int) -> None:
        interval_ns, lease_ns = session.interval_ns, session.lease_ns
        for name in ("report_interval_ms", "lease_ttl_ms"):
            if request.HasField(name) and getattr(request, name) <= 0:
                message = f"{name}={getattr(request, name)} is not allowed: it must be above 0"
                self.fail(session, StreamErrorCode.INVALID_ARGUMENT, message)
                return
        if request.HasField("report_interval_ms"):
            interval_ns = self._granted_interval_ms(request.report_interval_ms) * _MS
        if request.HasField("lease_ttl_ms"):
            lease_ns = self._granted_lease_ms(request.lease_ttl_ms) * _MS
        session.change(interval_ns=interval_ns, lease_ns=lease_ns, now_ns=now_ns)
        self._on_change()

    def _granted_interval_ms(self, asked_ms: int) -> int:
        return max(asked_ms, self._config.min_report_interval_ms)

    def _granted_lease_ms(self, asked_ms: int) -> int:
        return min(max(asked_ms, _MIN_LEASE_TTL_MS), self._config.max_lease_ttl_ms)


def _register_problem(request: RegisterRequest, registered_as: str | None) -> str | None:
    """Say what is wrong with a `register`, or None."""
    if not request.router_id.strip():
        return "router_id is blank: a name unique to the router is needed"
    if len(request.router_id) > _LONGEST_ROUTER_ID:
        return f"router_id has {len(request.router_id)} characters: at most {_LONGEST_ROUTER_ID} are allowed"
    if registered_as is not None and request.router_id != registered_as:
        return f"this stream is registered as {registered_as!r}, not {request.router_id!r}: open another for another id"
    if request.report_interval_ms <= 0:
        return f"report_interval_ms={request.report_interval_ms} is not allowed: it must be above 0"
    if request.lease_ttl_ms <= 0:
        return f"lease_ttl_ms={request.lease_ttl_ms} is not allowed: it must be above 0"
    if request.HasField("max_unacked_reports") and request.max_unacked_reports == 0:
        return "max_unacked_reports=0 is not allowed: at least 1, or absent for a router that doesn't acknowledge"
    return None

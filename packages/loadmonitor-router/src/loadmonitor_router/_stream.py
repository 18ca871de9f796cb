"""The Router's half of one stream as a state machine: frames and times go in, frames and reports come out.

What a stream lives through: `register` is sent; `registered` must follow, once and first; then reports. The lease is
renewed by every frame we send, an acknowledgement or, when there is none to send for a while, a bare `keep_alive`.
"""

import loadmonitor_proto as wire
from loadmonitor_router._acks import AckTiming
from loadmonitor_router._delay import CreditedDelay, EstimatedDelay
from loadmonitor_router._ingest import Ingest
from loadmonitor_router._line import line_of
from loadmonitor_router.config import ClientConfig
from loadmonitor_router.connection import Grant, TlsFault
from loadmonitor_router.errors import LoadMonitorRouterError, StreamRefusedError
from loadmonitor_router.reports import Receipt, WorkerReport

_NS_PER_MS = 1_000_000
_RENEWAL_NS_PER_MS = 750_000  # renew after three quarters of renew_after_ms: the timer may be late


class StreamLostError(LoadMonitorRouterError):
    """This stream is over and the Worker may be dialled again.

    Attributes:
        code: The Worker's code from its error frame, or None when there was none.
        fault: What is wrong with TLS, or None when nothing is.
    """

    def __init__(self, message: str, code: str | None = None, *, fault: TlsFault | None = None) -> None:
        """Say what happened, with the Worker's code when it sent one."""
        super().__init__(message)
        self.code = code
        self.fault = fault


class StreamSession:
    """One stream, from the `register` to its loss.

    Attributes:
        grant: What the Worker granted; None until it has.
        window: The most reports that may wait for the consumer.
        restart_reason: Why the stream should be opened anew although it works, or None.
    """

    def __init__(self, address: str, config: ClientConfig, ingest: Ingest) -> None:
        """Begin; the first `next_frame` is the `register`.

        Args:
            address: The Worker, for messages.
            config: The client's settings.
            ingest: The Worker's reports across streams.
        """
        self.grant: Grant | None = None
        self.window = 1
        self.restart_reason: str | None = None
        self._address = address
        self._config = config
        self._ingest = ingest
        self._not_acknowledged = f"registration not acknowledged within {config.ack_timeout_ms} ms"
        self._registered_ns = 0
        self._sent_ns: int | None = None
        self._delay: CreditedDelay | EstimatedDelay | None = None
        self._acks = AckTiming(None)
        self._outstanding: dict[int, bool] = {}  # sequence -> taken by the consumer; in the order of arrival
        self._newest = -1
        self._covered = 0

    @property
    def wake_at_ns(self) -> int:
        """When `next_frame` must be asked again, at the latest."""
        if self.grant is None or self._sent_ns is None:
            return self._registered_ns + self._config.ack_timeout_ms * _NS_PER_MS
        renewal_ns = self._sent_ns + self.grant.renew_after_ms * _RENEWAL_NS_PER_MS
        return min(renewal_ns, self._acks.due_ns) if self._covered else renewal_ns

    def patience(self, now_ns: int) -> tuple[int, str]:
        """Return until when a frame that is sent now may be on its way, and what it means when it takes longer."""
        if self.grant is None:
            return self.wake_at_ns, self._not_acknowledged
        return now_ns + self.grant.lease_ttl_ms * _NS_PER_MS, "the Worker has taken no frame for as long as its lease"

    def next_frame(self, now_ns: int) -> wire.RouterFrame | None:
        """Return the frame to send now, or None; the caller sends it at once.

        Raises:
            StreamLostError: The Worker hasn't acknowledged the registration in time.
        """
        if self._sent_ns is None:
            self._sent_ns = self._registered_ns = now_ns
            return wire.RouterFrame(
                register=wire.RegisterRequest(
                    router_id=self._config.router_id,
                    report_interval_ms=self._config.report_interval_ms,
                    lease_ttl_ms=self._config.lease_ttl_ms,
                    max_unacked_reports=self._config.max_unacked_reports,
                )
            )
        if self.grant is None:
            if now_ns >= self.wake_at_ns:
                raise StreamLostError(self._not_acknowledged)
            return None
        acked = self._take_acknowledgement(now_ns)
        if acked is None and now_ns < self.wake_at_ns:
            return None
        self._sent_ns = now_ns
        return wire.RouterFrame(keep_alive=wire.KeepAlive(acked_sequence_id=acked))

    def receive(self, frame: wire.WorkerFrame | None, now_ns: int) -> WorkerReport | None:
        """Take in one frame; return the report to hand over, or None when it carried none that may be used.

        Args:
            frame: The frame, or None when what arrived doesn't parse as one.
            now_ns: When it was read.

        Raises:
            StreamLostError: The Worker ended the stream, or broke the protocol; dial again.
            StreamRefusedError: The Worker ended the stream for good.
        """
        kind = None if frame is None else frame.WhichOneof("payload")
        if frame is None or kind is None:
            raise StreamLostError("protocol error: a frame that is empty or doesn't parse")
        if kind == "error":
            code, message = line_of(frame.error.code), line_of(frame.error.message)
            if wire.is_terminal(code):
                raise StreamRefusedError(self._address, code, message)
            raise StreamLostError(f"{code or 'error without a code'}: {message or 'no reason given'}", code)
        if kind == "registered":
            self._accept(frame.registered)
            return None
        if self._delay is None:
            raise StreamLostError("protocol error: a report came before the acknowledgement")
        return self._report(frame.report, self._delay, now_ns)

    def processed(self, sequence_id: int) -> bool:
        """Note that the consumer has taken this report; return whether there is something to acknowledge."""
        if sequence_id in self._outstanding:
            self._outstanding[sequence_id] = True
        while (first := next(iter(self._outstanding), None)) is not None and self._outstanding[first]:
            del self._outstanding[first]
            self._newest = first
            self._covered += 1
        return self._covered > 0

    def _accept(self, response: wire.RegisterResponse) -> None:
        if self.grant is not None:
            raise StreamLostError("protocol error: a second acknowledgement")
        self.grant = Grant.from_wire(response, window=self._config.max_unacked_reports)
        fault = self.grant.fault()
        if fault is not None:
            raise StreamLostError(f"protocol error: {fault}")
        if self.grant.source_instance_id is not None:
            self._ingest.acknowledged_by(self.grant.source_instance_id)
        if self.grant.max_unacked_reports is None:
            self._delay = EstimatedDelay(self._registered_ns)
        else:
            self.window = self.grant.max_unacked_reports
            self._acks = AckTiming(self.grant.report_interval_ms)
            self._delay = CreditedDelay(self.window, self._registered_ns)

    def _report(
        self, report: wire.LoadReport, delay: CreditedDelay | EstimatedDelay, now_ns: int
    ) -> WorkerReport | None:
        if isinstance(delay, CreditedDelay):
            delay_ms = delay.bound_ms(now_ns)
            self._acks.received(now_ns, report.worker_state)
            if report.sequence_id > max(self._outstanding, default=self._newest):
                self._outstanding[report.sequence_id] = False
        else:
            delay_ms = delay.bound_ms(now_ns, report.report_time_unix_ms or None)
            if delay.stepped:
                self.restart_reason = "the Worker's clock was stepped, so that the age of its reports is unknown"
        admitted = self._ingest.admit(report, Receipt(monotonic_ns=now_ns, delay_ms=delay_ms))
        if admitted is None:
            self.processed(report.sequence_id)
        return admitted

    def _take_acknowledgement(self, now_ns: int) -> int | None:
        if not isinstance(self._delay, CreditedDelay) or not self._covered or now_ns < self._acks.due_ns:
            return None
        self._delay.credit(now_ns, self._covered)
        self._covered = 0
        return self._newest

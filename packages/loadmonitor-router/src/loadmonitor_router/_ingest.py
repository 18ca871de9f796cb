"""What becomes of each report of one Worker, across all its streams: order, drop, count, explain."""

from collections import Counter, deque

import loadmonitor_proto as wire
from loadmonitor_router.decoding import decode_report
from loadmonitor_router.errors import DropReason, InvalidReportError
from loadmonitor_router.reports import Receipt, WorkerReport

_RETIRED_KEPT = 64  # a report of an instance this many restarts ago can't still be on its way


class Ingest:
    """Accepts each report of a Worker at most once, and never an older one after a newer.

    Reports are ordered by (source instance, sequence). A new instance retires the one before: what still arrives from it is
    dropped, unless it acknowledges a new stream itself. Sequences of different instances are never compared.

    Attributes:
        received: Reports that arrived, dropped ones included.
        dropped: How many were dropped, by reason.
        last_drop: Why the newest of them was dropped, for people; None while there is none.
    """

    def __init__(self) -> None:
        self.received = 0
        self.dropped: Counter[DropReason] = Counter()
        self.last_drop: str | None = None
        self._instance: str | None = None
        self._newest = 0
        self._retired: deque[str] = deque(maxlen=_RETIRED_KEPT)

    def acknowledged_by(self, instance: str) -> None:
        """Note which instance acknowledged a new stream: a retired one lives, and its address leads to it again.

        A stream begins after the one before has ended, so nothing that the instance sent earlier can still arrive.
        """
        if instance in self._retired:
            self._retired.remove(instance)
            self._replace(instance)

    def admit(self, report: wire.LoadReport, receipt: Receipt) -> WorkerReport | None:
        """Return the report as a Router may use it, or None when it was dropped and counted."""
        self.received += 1
        try:
            decoded = decode_report(report, receipt)
        except InvalidReportError as error:
            self._drop(error.reason, report, str(error))
            return None
        instance, sequence = decoded.source_instance_id, decoded.sequence_id
        if instance in self._retired:
            self._drop(DropReason.RETIRED_INSTANCE, report, f"instance {self._instance} has reported since")
            return None
        if instance == self._instance and sequence <= self._newest:
            self._drop(DropReason.OUT_OF_ORDER, report, f"report {self._newest} came before")
            return None
        if instance != self._instance:
            self._replace(instance)
        self._newest = sequence
        return decoded

    def _replace(self, instance: str) -> None:
        if self._instance is not None:
            self._retired.append(self._instance)
        self._instance, self._newest = instance, -1

    def _drop(self, reason: DropReason, report: wire.LoadReport, why: str) -> None:
        self.dropped[reason] += 1
        self.last_drop = f"report {report.sequence_id} of instance {report.source_instance_id or '-'}: {why}"

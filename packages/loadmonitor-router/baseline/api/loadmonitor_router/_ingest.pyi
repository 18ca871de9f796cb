import loadmonitor_proto as wire
from collections import Counter
from loadmonitor_router.decoding import decode_report as decode_report
from loadmonitor_router.errors import DropReason as DropReason, InvalidReportError as InvalidReportError
from loadmonitor_router.reports import Receipt as Receipt, WorkerReport as WorkerReport

class Ingest:
    received: int
    dropped: Counter[DropReason]
    last_drop: str | None
    def __init__(self) -> None: ...
    def acknowledged_by(self, instance: str) -> None: ...
    def admit(self, report: wire.LoadReport, receipt: Receipt) -> WorkerReport | None: ...

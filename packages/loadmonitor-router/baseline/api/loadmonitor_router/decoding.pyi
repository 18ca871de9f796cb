import loadmonitor_proto as wire
from loadmonitor_router.errors import DropReason as DropReason, InvalidReportError as InvalidReportError
from loadmonitor_router.reports import RankLoad as RankLoad, Receipt as Receipt, ReportStatus as ReportStatus, WorkerInfo as WorkerInfo, WorkerReport as WorkerReport, WorkerState as WorkerState, WorkerType as WorkerType

def decode_report(report: wire.LoadReport, receipt: Receipt) -> WorkerReport: ...

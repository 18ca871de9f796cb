"""A report as its bytes on the wire."""

from loadmonitor_proto import LoadReport, RankLoad, ReportStatus, WorkerFrame

report = LoadReport(
    source_instance_id="a4f1",
    sequence_id=1,
    status=ReportStatus.REPORT_STATUS_HEALTHY,
    ranks=[RankLoad(dp_rank=0, num_running_reqs=12, max_running_requests=256)],
)
frame = WorkerFrame.FromString(WorkerFrame(report=report).SerializeToString())
print(frame.report.ranks[0].num_running_reqs, "of", frame.report.ranks[0].max_running_requests, "requests run")

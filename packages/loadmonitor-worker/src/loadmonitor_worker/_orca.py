"""ORCA load reports (`xds.data.orca.v3`): what a reading of the engine is in the words of gRPC's and Envoy's load balancing.

The messages live in a descriptor pool of their own, because an engine may hold the generated ones of another package. They are
the published ones; the fields 3 (deprecated) and 4 (of single requests) are left out.
"""

from collections.abc import Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from loadmonitor_proto import ReportStatus as WireStatus
from loadmonitor_proto import WorkerState as WireState
from loadmonitor_worker._verdict import Attempt, ReportStatus, Verdict
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.state import WorkerState

LEAST_UTILIZATION: Final = 0.01
"""Reported of an engine that is emptier than this: a client takes 0 for "not reported", and gives an idle engine a mean share."""

AVOIDED_UTILIZATION: Final = 100.0
"""Reported of an engine that is LOADING, DRAINING or PAUSED: ORCA has no word for "send nothing new"."""

REQUESTS_PER_SECOND: Final = 1.0
"""Reported as the rate of every engine, as none tells how many requests it completed: weights then are 1 / utilization."""


def _messages() -> tuple[Any, Any]:
    """Return the classes of OrcaLoadReportRequest and OrcaLoadReport."""
    kind = descriptor_pb2.FieldDescriptorProto
    once, many = kind.LABEL_OPTIONAL, kind.LABEL_REPEATED
    duration = descriptor_pb2.FileDescriptorProto(
        name="google/protobuf/duration.proto", package="google.protobuf", syntax="proto3"
    )
    message = duration.message_type.add(name="Duration")
    message.field.add(name="seconds", number=1, type=kind.TYPE_INT64, label=once)
    message.field.add(name="nanos", number=2, type=kind.TYPE_INT32, label=once)

    data = descriptor_pb2.FileDescriptorProto(
        name="xds/data/orca/v3/orca_load_report.proto", package="xds.data.orca.v3", syntax="proto3"
    )
    message = data.message_type.add(name="OrcaLoadReport")
    for name, number in (("mem_utilization", 2), ("rps_fractional", 6), ("application_utilization", 9)):
        message.field.add(name=name, number=number, type=kind.TYPE_DOUBLE, label=once)
    for name, entry, number in (("utilization", "UtilizationEntry", 5), ("named_metrics", "NamedMetricsEntry", 8)):
        pair = message.nested_type.add(name=entry)
        pair.options.map_entry = True
        pair.field.add(name="key", number=1, type=kind.TYPE_STRING, label=once)
        pair.field.add(name="value", number=2, type=kind.TYPE_DOUBLE, label=once)
        type_name = f".xds.data.orca.v3.OrcaLoadReport.{entry}"
        message.field.add(name=name, number=number, type=kind.TYPE_MESSAGE, type_name=type_name, label=many)

    service = descriptor_pb2.FileDescriptorProto(
        name="xds/service/orca/v3/orca.proto",
        package="xds.service.orca.v3",
        syntax="proto3",
        dependency=[duration.name],
    )
    message = service.message_type.add(name="OrcaLoadReportRequest")
    type_name = ".google.protobuf.Duration"
    message.field.add(name="report_interval", number=1, type=kind.TYPE_MESSAGE, type_name=type_name, label=once)

    pool = descriptor_pool.DescriptorPool()
    for file in (duration, data, service):
        pool.Add(file)
    return (
        message_factory.GetMessageClass(pool.FindMessageTypeByName("xds.service.orca.v3.OrcaLoadReportRequest")),
        message_factory.GetMessageClass(pool.FindMessageTypeByName("xds.data.orca.v3.OrcaLoadReport")),
    )


_Request, _Report = _messages()


def granted_interval_ns(request: bytes, *, least_ms: int) -> int:
    """Return what an encoded OrcaLoadReportRequest is granted: what it asks for, and at least `least_ms`.

    Raises:
        google.protobuf.message.DecodeError: It isn't an OrcaLoadReportRequest.
    """
    interval = _Request.FromString(request).report_interval
    asked_ns: int = interval.seconds * 1_000_000_000 + interval.nanos
    return max(asked_ns, least_ms * 1_000_000)


def orca_report(attempt: Attempt, verdict: Verdict, *, sequence_id: int, worker_state: WorkerState | None) -> bytes:
    """Return an encoded OrcaLoadReport.

    The engine's numbers are in it only while it is HEALTHY. Without them, and without a rate, a client keeps the weight that it
    has until that expires by the client's own rule. A state in which the engine should be left alone is told in any case.
    """
    metrics: dict[str, float] = {
        "status": WireStatus.Value(f"REPORT_STATUS_{verdict.status}"),
        "sequence_id": sequence_id,
    }
    if verdict.max_snapshot_age_ms is not None:
        metrics["snapshot_age_ms"] = verdict.max_snapshot_age_ms
    if worker_state is not None:
        metrics["worker_state"] = WireState.Value(f"WORKER_STATE_{worker_state.name}")
    report = _Report()
    utilization = None
    if verdict.status is ReportStatus.HEALTHY:
        utilization = max(LEAST_UTILIZATION, _add_load(report, metrics, attempt.ranks))
    if worker_state not in {None, WorkerState.SERVING}:
        utilization = AVOIDED_UTILIZATION
    if utilization is not None:
        report.application_utilization = utilization
        report.rps_fractional = REQUESTS_PER_SECOND
    report.named_metrics.update(metrics)
    encoded: bytes = report.SerializeToString()
    return encoded


def _add_load(report: Any, metrics: dict[str, float], ranks: Sequence[RankSnapshot]) -> float:
    """Add what the ranks tell to a report and its named metrics; return how full the fullest is, where 1 is full."""
    metrics["num_running_reqs"] = sum(rank.num_running_reqs for rank in ranks)
    metrics["num_waiting_reqs"] = sum(rank.num_waiting_reqs for rank in ranks)
    uncached = [rank.num_waiting_uncached_tokens for rank in ranks if rank.num_waiting_uncached_tokens is not None]
    if len(uncached) == len(ranks):
        metrics["num_waiting_uncached_tokens"] = sum(uncached)
    ratios: dict[str, float] = {
        "request_slots": max(rank.num_running_reqs / rank.max_running_requests for rank in ranks)
    }
    for rank in ranks:
        metrics[f"rank.{rank.dp_rank}.num_running_reqs"] = rank.num_running_reqs
        metrics[f"rank.{rank.dp_rank}.num_waiting_reqs"] = rank.num_waiting_reqs
        if rank.token_usage is not None:
            ratios[f"rank.{rank.dp_rank}.kv_cache"] = min(1.0, rank.token_usage)
    usages = [rank.token_usage for rank in ranks if rank.token_usage is not None]
    if usages:
        report.mem_utilization = ratios["kv_cache"] = min(1.0, max(usages))
    report.utilization.update(ratios)
    demands = [(rank.num_running_reqs + rank.num_waiting_reqs) / rank.max_running_requests for rank in ranks]
    return max(*demands, *usages) if usages else max(demands)

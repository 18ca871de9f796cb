"""The contract, written out: a field that moves, changes type or loses its presence differs from this table."""

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from loadmonitor_proto import DESCRIPTOR

FIELDS = """
Worker 1 string worker_addr
Worker 2 WorkerType worker_type
Worker 3 optional string model
Worker 4 optional string zone

RankLoad 1 int32 dp_rank
RankLoad 2 int64 snapshot_time_unix_ms
RankLoad 3 int64 num_running_reqs
RankLoad 4 int64 num_waiting_reqs
RankLoad 5 int64 num_waiting_uncached_tokens
RankLoad 6 int64 num_used_tokens
RankLoad 7 int64 num_total_tokens
RankLoad 8 int64 max_total_num_tokens
RankLoad 9 int64 max_running_requests
RankLoad 10 double token_usage
RankLoad 11 double gen_throughput
RankLoad 12 double cache_hit_rate
RankLoad 13 double utilization
RankLoad 14 optional double prefill_throughput
RankLoad 100 optional int64 prefill_uncached_tokens_total
RankLoad 101 optional int64 prefill_busy_us_total
RankLoad 102 optional int64 generated_tokens_total
RankLoad 103 repeated uint32 unknown_field_numbers

LoadReport 1 string source_instance_id
LoadReport 2 uint64 sequence_id
LoadReport 3 int64 report_time_unix_ms
LoadReport 4 Worker worker
LoadReport 5 ReportStatus status
LoadReport 6 optional string last_error
LoadReport 7 repeated RankLoad ranks
LoadReport 100 optional int64 max_snapshot_age_ms
LoadReport 101 optional WorkerState worker_state
LoadReport 102 optional uint32 active_routers

RouterFrame 1 payload RegisterRequest register
RouterFrame 2 payload UpdateConfigRequest update_config
RouterFrame 3 payload KeepAlive keep_alive
RouterFrame 4 payload StopRequest stop

WorkerFrame 1 payload RegisterResponse registered
WorkerFrame 2 payload LoadReport report
WorkerFrame 3 payload StreamError error

RegisterRequest 1 string router_id
RegisterRequest 2 int64 report_interval_ms
RegisterRequest 3 int64 lease_ttl_ms
RegisterRequest 100 optional uint32 max_unacked_reports

RegisterResponse 1 int64 lease_ttl_ms
RegisterResponse 2 int64 renew_after_ms
RegisterResponse 100 optional int64 report_interval_ms
RegisterResponse 101 optional int64 stale_after_ms
RegisterResponse 102 optional string source_instance_id
RegisterResponse 103 optional int64 min_report_interval_ms
RegisterResponse 104 optional int64 max_lease_ttl_ms

UpdateConfigRequest 1 optional int64 report_interval_ms
UpdateConfigRequest 2 optional int64 lease_ttl_ms

KeepAlive 100 optional uint64 acked_sequence_id

StreamError 1 string code
StreamError 2 string message
"""

ENUMS = {
    "WorkerType": {
        "WORKER_TYPE_UNSPECIFIED": 0,
        "WORKER_TYPE_REGULAR": 1,
        "WORKER_TYPE_PREFILL": 2,
        "WORKER_TYPE_DECODE": 3,
    },
    "ReportStatus": {
        "REPORT_STATUS_UNSPECIFIED": 0,
        "REPORT_STATUS_HEALTHY": 1,
        "REPORT_STATUS_STALE": 2,
        "REPORT_STATUS_UNREACHABLE": 3,
    },
    "WorkerState": {
        "WORKER_STATE_UNSPECIFIED": 0,
        "WORKER_STATE_LOADING": 1,
        "WORKER_STATE_SERVING": 2,
        "WORKER_STATE_DRAINING": 3,
        "WORKER_STATE_PAUSED": 4,
    },
}

FILE = descriptor_pb2.FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb)


def describe(message: descriptor_pb2.DescriptorProto, field: FieldDescriptorProto) -> str:
    """Write a field as a line of the table: message, number, presence or group, type, name."""
    kind = field.type_name.removeprefix(f".{FILE.package}.") or FieldDescriptorProto.Type.Name(field.type)[5:].lower()
    presence = ""
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        presence = "repeated "
    elif field.proto3_optional:
        presence = "optional "
    elif field.HasField("oneof_index"):
        presence = message.oneof_decl[field.oneof_index].name + " "
    return f"{message.name} {field.number} {presence}{kind} {field.name}"


def test_every_field_has_the_number_type_presence_and_name_of_the_contract() -> None:
    fields = [describe(message, field) for message in FILE.message_type for field in message.field]
    assert fields == [line for line in FIELDS.splitlines() if line]


def test_the_messages_are_those_of_the_contract_and_hold_no_nested_types() -> None:
    names = [message.name for message in FILE.message_type]
    assert sorted(names) == sorted({line.split()[0] for line in FIELDS.splitlines() if line} | {"StopRequest"})
    assert not any(message.nested_type or message.enum_type for message in FILE.message_type)


def test_every_enum_value_has_the_number_of_the_contract() -> None:
    enums = {enum.name: {value.name: value.number for value in enum.value} for enum in FILE.enum_type}
    assert enums == ENUMS


def test_the_service_is_one_method_that_streams_both_ways() -> None:
    (service,) = FILE.service
    (method,) = service.method
    assert (FILE.package, service.name, method.name) == (
        "sglang.router.loadmonitor.v1",
        "LoadMonitorService",
        "Monitor",
    )
    assert (method.input_type, method.output_type) == (f".{FILE.package}.RouterFrame", f".{FILE.package}.WorkerFrame")
    assert method.client_streaming
    assert method.server_streaming


def test_the_file_is_proto3_and_needs_no_other_file() -> None:
    assert FILE.syntax == "proto3"
    assert not FILE.dependency

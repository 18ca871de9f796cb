"""What a user does with the messages: read and write presence, copy, pickle, print, and meet an older peer."""

import copy
import importlib
import pickle

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

import loadmonitor_proto
from loadmonitor_proto import (
    DESCRIPTOR,
    POOL,
    KeepAlive,
    LoadReport,
    RankLoad,
    RegisterRequest,
    ReportStatus,
    RouterFrame,
    Worker,
    WorkerFrame,
    WorkerState,
    WorkerType,
)

FILE = descriptor_pb2.FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb)
ENUMS = [enum.name for enum in FILE.enum_type]
MESSAGES = [message.name for message in FILE.message_type]
FIELDS = [(message.name, field) for message in FILE.message_type for field in message.field]
OPTIONAL = [(name, field.name) for name, field in FIELDS if field.proto3_optional]
PLAIN = [
    (name, field.name)
    for name, field in FIELDS
    if not field.HasField("oneof_index") and field.type != FieldDescriptorProto.TYPE_MESSAGE
]


def new(message_name: str) -> Message:
    """Return an empty message of the package by its name."""
    message: Message = getattr(loadmonitor_proto, message_name)()
    return message


# Every range end that the wire type allows, and every presence.
RANKS = st.builds(
    RankLoad,
    dp_rank=st.integers(-(2**31), 2**31 - 1),
    num_used_tokens=st.integers(-(2**63), 2**63 - 1),
    token_usage=st.floats(allow_nan=False, allow_infinity=False),
    prefill_throughput=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    generated_tokens_total=st.none() | st.integers(-(2**63), 2**63 - 1),
)
REPORTS = st.builds(
    LoadReport,
    source_instance_id=st.text(),
    sequence_id=st.integers(0, 2**64 - 1),
    worker=st.none() | st.builds(Worker, worker_type=st.sampled_from(WorkerType.values()), zone=st.none() | st.text()),
    status=st.sampled_from(ReportStatus.values()),
    last_error=st.none() | st.text(),
    ranks=st.lists(RANKS, max_size=4),
    max_snapshot_age_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
    worker_state=st.none() | st.sampled_from(WorkerState.values()),
    active_routers=st.none() | st.integers(0, 2**32 - 1),
)


@given(REPORTS)
def test_a_report_survives_bytes_pickle_copies_and_json(report: LoadReport) -> None:
    assert LoadReport.FromString(report.SerializeToString()) == report
    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301
    assert copy.copy(report) == report
    assert copy.deepcopy(report) == report
    text = json_format.MessageToJson(report, preserving_proto_field_name=True)
    assert json_format.Parse(text, LoadReport()) == report


@pytest.mark.parametrize("name", MESSAGES)
def test_a_pickled_message_comes_back_as_the_public_class(name: str) -> None:
    cls = getattr(loadmonitor_proto, name)
    assert type(pickle.loads(pickle.dumps(cls()))) is cls  # noqa: S301
    assert getattr(importlib.import_module(cls.__module__), cls.__qualname__) is cls


def test_a_deep_copy_shares_nothing_with_its_original() -> None:
    report = LoadReport(ranks=[RankLoad(dp_rank=0, num_running_reqs=1)])
    twin = copy.deepcopy(report)
    twin.ranks[0].num_running_reqs = 2
    assert report.ranks[0].num_running_reqs == 1


@pytest.mark.parametrize(("message_name", "field"), OPTIONAL)
def test_an_optional_field_tells_zero_from_absent(message_name: str, field: str) -> None:
    absent = new(message_name)
    assert not absent.HasField(field)
    assert absent.SerializeToString() == b""

    zero = new(message_name)
    setattr(zero, field, getattr(zero, field))
    arrived = new(message_name)
    arrived.ParseFromString(zero.SerializeToString())
    assert arrived.HasField(field)
    assert arrived != absent

    arrived.ClearField(field)
    assert arrived == absent


@pytest.mark.parametrize(("message_name", "field"), PLAIN)
def test_a_v1_field_without_presence_refuses_the_question(message_name: str, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        new(message_name).HasField(field)


def test_none_given_to_a_constructor_means_absent() -> None:
    assert not RankLoad(prefill_throughput=None).HasField("prefill_throughput")


def test_json_keeps_the_names_of_the_contract_and_writes_64_bit_numbers_as_text() -> None:
    report = LoadReport(sequence_id=2**64 - 1, status=ReportStatus.REPORT_STATUS_STALE, ranks=[RankLoad(dp_rank=3)])
    assert json_format.MessageToDict(report, preserving_proto_field_name=True) == {
        "sequence_id": "18446744073709551615",
        "status": "REPORT_STATUS_STALE",
        "ranks": [{"dp_rank": 3}],
    }


def test_a_status_of_a_newer_peer_arrives_as_its_number() -> None:
    arrived = LoadReport.FromString(LoadReport(status=ReportStatus.ValueType(9)).SerializeToString())
    assert arrived.status == 9
    assert arrived.status not in ReportStatus.values()


def test_an_empty_frame_parses_and_has_no_payload() -> None:
    assert RouterFrame.FromString(b"").WhichOneof("payload") is None
    assert WorkerFrame.FromString(b"").WhichOneof("payload") is None


def test_the_default_pool_knows_nothing_of_the_contract() -> None:
    default = descriptor_pool.Default()
    with pytest.raises(KeyError):
        default.FindFileByName(FILE.name)
    for name in (*MESSAGES, *ENUMS, "LoadMonitorService"):
        with pytest.raises(KeyError):
            default.FindFileContainingSymbol(f"{FILE.package}.{name}")
    assert DESCRIPTOR.pool is POOL
    assert LoadReport.DESCRIPTOR.file.pool is POOL


def v1_class(name: str) -> type[Message]:
    """Return a message as a peer has it that knows the published v1 only: no field from 100 on."""
    file = descriptor_pb2.FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb)
    for message in file.message_type:
        kept = [field for field in message.field if field.number < 100]
        used = sorted({field.oneof_index for field in kept if field.HasField("oneof_index")})
        declarations = [message.oneof_decl[index] for index in used]
        for field in kept:
            if field.HasField("oneof_index"):
                field.oneof_index = used.index(field.oneof_index)
        del message.field[:], message.oneof_decl[:]
        message.field.extend(kept)
        message.oneof_decl.extend(declarations)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{FILE.package}.{name}"))


def test_a_v1_peer_reads_its_fields_and_skips_ours() -> None:
    ours = LoadReport(
        source_instance_id="a",
        sequence_id=7,
        ranks=[RankLoad(dp_rank=1, num_used_tokens=5, generated_tokens_total=9)],
        max_snapshot_age_ms=12,
        worker_state=WorkerState.WORKER_STATE_DRAINING,
    )
    theirs = v1_class("LoadReport").FromString(ours.SerializeToString())
    assert json_format.MessageToDict(theirs, preserving_proto_field_name=True) == {
        "source_instance_id": "a",
        "sequence_id": "7",
        "ranks": [{"dp_rank": 1, "num_used_tokens": "5"}],
    }
    assert LoadReport.FromString(theirs.SerializeToString()) == ours


def test_a_v1_peer_never_sets_our_fields() -> None:
    register = v1_class("RegisterRequest")(router_id="r", report_interval_ms=100, lease_ttl_ms=3000)
    ours = RegisterRequest.FromString(register.SerializeToString())
    assert ours == RegisterRequest(router_id="r", report_interval_ms=100, lease_ttl_ms=3000)
    assert not ours.HasField("max_unacked_reports")
    assert not KeepAlive.FromString(v1_class("KeepAlive")().SerializeToString()).HasField("acked_sequence_id")


def test_every_exported_name_exists_and_every_message_is_exported() -> None:
    exported = set(loadmonitor_proto.__all__)
    assert all(hasattr(loadmonitor_proto, name) for name in exported)
    assert exported.issuperset((*MESSAGES, *ENUMS))

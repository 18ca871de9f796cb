"""The messages on the wire: numbers, presence, and peace with another copy of the same schema in one process."""

import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor

from p2p_registry import BackendFramework, SourceStatus, SourceType, wire

FIELDS = {
    "ListSourcesRequest": "identity=1 status_filter=2? model_name_filter=3? worker_rank_filter=4? min_training_step=5? "
    "min_updated_at=6? limit=7?",
    "UpdateStatusRequest": "mx_source_id=1 worker_rank=2 status=3 worker_id=4 source_load=5?",
    "UpdateStatusResponse": "success=1 message=2",
    "PublishMetadataRequest": "identity=1 worker=2 worker_id=3 pod_name=4 pod_uid=5 pod_namespace=6",
    "PublishMetadataResponse": "success=1 message=2 mx_source_id=3 worker_id=4",
    "GetMetadataRequest": "mx_source_id=1 worker_id=2",
    "GetMetadataResponse": "found=1 worker=2 mx_source_id=3 worker_id=4 identity=5",
    "SourceInstanceRef": "mx_source_id=1 worker_id=2 model_name=3 worker_rank=4 accelerator=5 updated_at=6 training_step=7? "
    "layout_signature=8? topology=9 source_load=10?",
    "WorkerMetadata": "worker_rank=1 nixl_metadata=2? tensors=3 status=4 updated_at=5 metadata_endpoint=6 agent_name=7 "
    "worker_grpc_endpoint=8 accelerator=9 transfer_engine_session_id=10? topology=11 tensor_source=20 artifact_source=21",
    "SourceIdentity": "mx_version=1 mx_source_type=2 model_name=3 backend_framework=4 tensor_parallel_size=5 "
    "pipeline_parallel_size=6 expert_parallel_size=7 dtype=8 quantization=9 extra_parameters=10 revision=11 "
    "backend_framework_version=12 torch_version=13 cuda_version=14 triton_version=15 gpu_arch=16 compile_config_digest=17",
    "TensorDescriptor": "name=1 addr=2 size=3 device_id=4 dtype=5",
    "ArtifactSourceMetadata": "artifact_id=1 total_size=2 file_count=3 chunk_count=4 node_rank=5",
    "TensorSourceMetadata": "tensors=1",
    "ListSourcesResponse": "instances=1",
}

FOREIGN_COPY = """
import sys
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if sys.argv[1] == "ours first":
    import p2p_registry.wire
theirs = descriptor_pb2.FileDescriptorProto(name="p2p.proto", package="model_express.p2p", syntax="proto3")
message = theirs.message_type.add(name="UpdateStatusRequest")
message.field.add(name="something_else", number=1, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT32, label=1)
pool = descriptor_pool.Default()
pool.Add(theirs)
other = message_factory.GetMessageClass(pool.FindMessageTypeByName("model_express.p2p.UpdateStatusRequest"))
from p2p_registry.wire import UpdateStatusRequest

assert UpdateStatusRequest is not other
assert UpdateStatusRequest.FromString(UpdateStatusRequest(worker_id="w").SerializeToString()).worker_id == "w"
assert other(something_else=3).something_else == 3
"""


def shown(field: FieldDescriptor) -> str:
    """Name and number; a question mark where a scalar keeps its presence."""
    scalar = field.message_type is None
    return f"{field.name}={field.number}{'?' if scalar and field.has_presence else ''}"


def test_every_field_has_the_number_and_the_presence_that_modelexpress_gives_it() -> None:
    messages = wire.DESCRIPTOR.message_types_by_name
    assert {name: set(map(shown, message.fields)) for name, message in messages.items()} == {
        name: set(text.split()) for name, text in FIELDS.items()
    }


def test_the_enums_of_this_package_have_the_numbers_of_the_wire() -> None:
    pairs = (
        (SourceStatus, "SourceStatus", "SOURCE_STATUS_"),
        (SourceType, "MxSourceType", "MX_SOURCE_TYPE_"),
        (BackendFramework, "BackendFramework", "BACKEND_FRAMEWORK_"),
    )
    for ours, name, prefix in pairs:
        values = wire.DESCRIPTOR.enum_types_by_name[name].values
        assert {prefix + member.name: member.value for member in ours} == {v.name: v.number for v in values}


def test_the_service_has_the_four_unary_methods() -> None:
    (service,) = wire.DESCRIPTOR.services_by_name.values()
    declared = descriptor_pb2.ServiceDescriptorProto()
    service.CopyToProto(declared)
    assert service.full_name == "model_express.p2p.P2pService"
    assert {(m.name, m.input_type, m.output_type, m.client_streaming, m.server_streaming) for m in declared.method} == {
        (name, f".model_express.p2p.{name}Request", f".model_express.p2p.{name}Response", False, False)
        for name in ("PublishMetadata", "ListSources", "GetMetadata", "UpdateStatus")
    }


def test_an_update_without_load_and_one_with_a_load_of_zero_have_the_bytes_of_the_wire() -> None:
    assert wire.UpdateStatusRequest(status=wire.SourceStatus.SOURCE_STATUS_READY).SerializeToString() == b"\x18\x02"
    zero = wire.UpdateStatusRequest(source_load=0.0).SerializeToString()
    assert zero == b"\x2d\0\0\0\0"
    assert wire.UpdateStatusRequest.FromString(zero).HasField("source_load")
    assert not wire.UpdateStatusRequest.FromString(b"").HasField("source_load")


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
def test_a_different_schema_of_the_same_name_in_the_default_pool_is_no_conflict(order: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FOREIGN_COPY, order], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

import builtins as _builtins
import typing as _typing
from _typeshed import Incomplete
from collections import abc as _abc
from google.protobuf import descriptor as _descriptor, message as _message
from google.protobuf.descriptor_pool import DescriptorPool as _DescriptorPool
from google.protobuf.internal import containers as _containers, enum_type_wrapper as _enum_type_wrapper
from typing import Never as _Never, TypeAlias as _TypeAlias

DESCRIPTOR: _descriptor.FileDescriptor

class _BackendFramework:
    ValueType: Incomplete
    V: _TypeAlias

class _BackendFrameworkEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_BackendFramework.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    BACKEND_FRAMEWORK_UNKNOWN: _BackendFramework.ValueType
    BACKEND_FRAMEWORK_VLLM: _BackendFramework.ValueType
    BACKEND_FRAMEWORK_SGLANG: _BackendFramework.ValueType
    BACKEND_FRAMEWORK_TRT_LLM: _BackendFramework.ValueType

class BackendFramework(_BackendFramework, metaclass=_BackendFrameworkEnumTypeWrapper): ...

BACKEND_FRAMEWORK_UNKNOWN: BackendFramework.ValueType
BACKEND_FRAMEWORK_VLLM: BackendFramework.ValueType
BACKEND_FRAMEWORK_SGLANG: BackendFramework.ValueType
BACKEND_FRAMEWORK_TRT_LLM: BackendFramework.ValueType
Global___BackendFramework: _TypeAlias

class _MxSourceType:
    ValueType: Incomplete
    V: _TypeAlias

class _MxSourceTypeEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_MxSourceType.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    MX_SOURCE_TYPE_WEIGHTS: _MxSourceType.ValueType
    MX_SOURCE_TYPE_LORA: _MxSourceType.ValueType
    MX_SOURCE_TYPE_CUDA_GRAPH: _MxSourceType.ValueType
    MX_SOURCE_TYPE_TORCH_COMPILE_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_TRITON_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_DEEP_GEMM_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_TILELANG_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_CUTE_DSL_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_FLASHINFER_CACHE: _MxSourceType.ValueType
    MX_SOURCE_TYPE_TVM_FFI_CACHE: _MxSourceType.ValueType

class MxSourceType(_MxSourceType, metaclass=_MxSourceTypeEnumTypeWrapper): ...

MX_SOURCE_TYPE_WEIGHTS: MxSourceType.ValueType
MX_SOURCE_TYPE_LORA: MxSourceType.ValueType
MX_SOURCE_TYPE_CUDA_GRAPH: MxSourceType.ValueType
MX_SOURCE_TYPE_TORCH_COMPILE_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_TRITON_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_DEEP_GEMM_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_TILELANG_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_CUTE_DSL_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_FLASHINFER_CACHE: MxSourceType.ValueType
MX_SOURCE_TYPE_TVM_FFI_CACHE: MxSourceType.ValueType
Global___MxSourceType: _TypeAlias

class _SourceStatus:
    ValueType: Incomplete
    V: _TypeAlias

class _SourceStatusEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_SourceStatus.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    SOURCE_STATUS_UNKNOWN: _SourceStatus.ValueType
    SOURCE_STATUS_INITIALIZING: _SourceStatus.ValueType
    SOURCE_STATUS_READY: _SourceStatus.ValueType
    SOURCE_STATUS_STALE: _SourceStatus.ValueType

class SourceStatus(_SourceStatus, metaclass=_SourceStatusEnumTypeWrapper): ...

SOURCE_STATUS_UNKNOWN: SourceStatus.ValueType
SOURCE_STATUS_INITIALIZING: SourceStatus.ValueType
SOURCE_STATUS_READY: SourceStatus.ValueType
SOURCE_STATUS_STALE: SourceStatus.ValueType
Global___SourceStatus: _TypeAlias

class SourceIdentity(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    class ExtraParametersEntry(_message.Message):
        DESCRIPTOR: _descriptor.Descriptor
        KEY_FIELD_NUMBER: _builtins.int
        VALUE_FIELD_NUMBER: _builtins.int
        key: _builtins.str
        value: _builtins.str
        def __init__(self, *, key: _builtins.str = ..., value: _builtins.str = ...) -> None: ...
        def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
        def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
        def WhichOneof(self, oneof_group: _Never) -> None: ...
    MX_VERSION_FIELD_NUMBER: _builtins.int
    MX_SOURCE_TYPE_FIELD_NUMBER: _builtins.int
    MODEL_NAME_FIELD_NUMBER: _builtins.int
    BACKEND_FRAMEWORK_FIELD_NUMBER: _builtins.int
    TENSOR_PARALLEL_SIZE_FIELD_NUMBER: _builtins.int
    PIPELINE_PARALLEL_SIZE_FIELD_NUMBER: _builtins.int
    EXPERT_PARALLEL_SIZE_FIELD_NUMBER: _builtins.int
    DTYPE_FIELD_NUMBER: _builtins.int
    QUANTIZATION_FIELD_NUMBER: _builtins.int
    EXTRA_PARAMETERS_FIELD_NUMBER: _builtins.int
    REVISION_FIELD_NUMBER: _builtins.int
    BACKEND_FRAMEWORK_VERSION_FIELD_NUMBER: _builtins.int
    TORCH_VERSION_FIELD_NUMBER: _builtins.int
    CUDA_VERSION_FIELD_NUMBER: _builtins.int
    TRITON_VERSION_FIELD_NUMBER: _builtins.int
    GPU_ARCH_FIELD_NUMBER: _builtins.int
    COMPILE_CONFIG_DIGEST_FIELD_NUMBER: _builtins.int
    mx_version: _builtins.str
    mx_source_type: Global___MxSourceType.ValueType
    model_name: _builtins.str
    backend_framework: Global___BackendFramework.ValueType
    tensor_parallel_size: _builtins.int
    pipeline_parallel_size: _builtins.int
    expert_parallel_size: _builtins.int
    dtype: _builtins.str
    quantization: _builtins.str
    revision: _builtins.str
    backend_framework_version: _builtins.str
    torch_version: _builtins.str
    cuda_version: _builtins.str
    triton_version: _builtins.str
    gpu_arch: _builtins.str
    compile_config_digest: _builtins.str
    @_builtins.property
    def extra_parameters(self) -> _containers.ScalarMap[_builtins.str, _builtins.str]: ...
    def __init__(self, *, mx_version: _builtins.str = ..., mx_source_type: Global___MxSourceType.ValueType = ..., model_name: _builtins.str = ..., backend_framework: Global___BackendFramework.ValueType = ..., tensor_parallel_size: _builtins.int = ..., pipeline_parallel_size: _builtins.int = ..., expert_parallel_size: _builtins.int = ..., dtype: _builtins.str = ..., quantization: _builtins.str = ..., extra_parameters: _abc.Mapping[_builtins.str, _builtins.str] | None = ..., revision: _builtins.str = ..., backend_framework_version: _builtins.str = ..., torch_version: _builtins.str = ..., cuda_version: _builtins.str = ..., triton_version: _builtins.str = ..., gpu_arch: _builtins.str = ..., compile_config_digest: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___SourceIdentity: _TypeAlias

class TensorDescriptor(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    NAME_FIELD_NUMBER: _builtins.int
    ADDR_FIELD_NUMBER: _builtins.int
    SIZE_FIELD_NUMBER: _builtins.int
    DEVICE_ID_FIELD_NUMBER: _builtins.int
    DTYPE_FIELD_NUMBER: _builtins.int
    name: _builtins.str
    addr: _builtins.int
    size: _builtins.int
    device_id: _builtins.int
    dtype: _builtins.str
    def __init__(self, *, name: _builtins.str = ..., addr: _builtins.int = ..., size: _builtins.int = ..., device_id: _builtins.int = ..., dtype: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___TensorDescriptor: _TypeAlias

class ArtifactSourceMetadata(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    ARTIFACT_ID_FIELD_NUMBER: _builtins.int
    TOTAL_SIZE_FIELD_NUMBER: _builtins.int
    FILE_COUNT_FIELD_NUMBER: _builtins.int
    CHUNK_COUNT_FIELD_NUMBER: _builtins.int
    NODE_RANK_FIELD_NUMBER: _builtins.int
    artifact_id: _builtins.str
    total_size: _builtins.int
    file_count: _builtins.int
    chunk_count: _builtins.int
    node_rank: _builtins.int
    def __init__(self, *, artifact_id: _builtins.str = ..., total_size: _builtins.int = ..., file_count: _builtins.int = ..., chunk_count: _builtins.int = ..., node_rank: _builtins.int = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___ArtifactSourceMetadata: _TypeAlias

class TensorSourceMetadata(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    TENSORS_FIELD_NUMBER: _builtins.int
    @_builtins.property
    def tensors(self) -> _containers.RepeatedCompositeFieldContainer[Global___TensorDescriptor]: ...
    def __init__(self, *, tensors: _abc.Iterable[Global___TensorDescriptor] | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___TensorSourceMetadata: _TypeAlias

class WorkerMetadata(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    class TopologyEntry(_message.Message):
        DESCRIPTOR: _descriptor.Descriptor
        KEY_FIELD_NUMBER: _builtins.int
        VALUE_FIELD_NUMBER: _builtins.int
        key: _builtins.str
        value: _builtins.str
        def __init__(self, *, key: _builtins.str = ..., value: _builtins.str = ...) -> None: ...
        def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
        def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
        def WhichOneof(self, oneof_group: _Never) -> None: ...
    WORKER_RANK_FIELD_NUMBER: _builtins.int
    NIXL_METADATA_FIELD_NUMBER: _builtins.int
    TRANSFER_ENGINE_SESSION_ID_FIELD_NUMBER: _builtins.int
    TENSORS_FIELD_NUMBER: _builtins.int
    STATUS_FIELD_NUMBER: _builtins.int
    UPDATED_AT_FIELD_NUMBER: _builtins.int
    METADATA_ENDPOINT_FIELD_NUMBER: _builtins.int
    AGENT_NAME_FIELD_NUMBER: _builtins.int
    WORKER_GRPC_ENDPOINT_FIELD_NUMBER: _builtins.int
    ACCELERATOR_FIELD_NUMBER: _builtins.int
    TOPOLOGY_FIELD_NUMBER: _builtins.int
    TENSOR_SOURCE_FIELD_NUMBER: _builtins.int
    ARTIFACT_SOURCE_FIELD_NUMBER: _builtins.int
    worker_rank: _builtins.int
    nixl_metadata: _builtins.bytes
    transfer_engine_session_id: _builtins.str
    status: Global___SourceStatus.ValueType
    updated_at: _builtins.int
    metadata_endpoint: _builtins.str
    agent_name: _builtins.str
    worker_grpc_endpoint: _builtins.str
    accelerator: _builtins.str
    @_builtins.property
    def tensors(self) -> _containers.RepeatedCompositeFieldContainer[Global___TensorDescriptor]: ...
    @_builtins.property
    def topology(self) -> _containers.ScalarMap[_builtins.str, _builtins.str]: ...
    @_builtins.property
    def tensor_source(self) -> Global___TensorSourceMetadata: ...
    @_builtins.property
    def artifact_source(self) -> Global___ArtifactSourceMetadata: ...
    def __init__(self, *, worker_rank: _builtins.int = ..., nixl_metadata: _builtins.bytes = ..., transfer_engine_session_id: _builtins.str = ..., tensors: _abc.Iterable[Global___TensorDescriptor] | None = ..., status: Global___SourceStatus.ValueType = ..., updated_at: _builtins.int = ..., metadata_endpoint: _builtins.str = ..., agent_name: _builtins.str = ..., worker_grpc_endpoint: _builtins.str = ..., accelerator: _builtins.str = ..., topology: _abc.Mapping[_builtins.str, _builtins.str] | None = ..., tensor_source: Global___TensorSourceMetadata | None = ..., artifact_source: Global___ArtifactSourceMetadata | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType_backend_metadata) -> _WhichOneofReturnType_backend_metadata | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType_source_payload) -> _WhichOneofReturnType_source_payload | None: ...

Global___WorkerMetadata: _TypeAlias

class PublishMetadataRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    IDENTITY_FIELD_NUMBER: _builtins.int
    WORKER_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    POD_NAME_FIELD_NUMBER: _builtins.int
    POD_UID_FIELD_NUMBER: _builtins.int
    POD_NAMESPACE_FIELD_NUMBER: _builtins.int
    worker_id: _builtins.str
    pod_name: _builtins.str
    pod_uid: _builtins.str
    pod_namespace: _builtins.str
    @_builtins.property
    def identity(self) -> Global___SourceIdentity: ...
    @_builtins.property
    def worker(self) -> Global___WorkerMetadata: ...
    def __init__(self, *, identity: Global___SourceIdentity | None = ..., worker: Global___WorkerMetadata | None = ..., worker_id: _builtins.str = ..., pod_name: _builtins.str = ..., pod_uid: _builtins.str = ..., pod_namespace: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___PublishMetadataRequest: _TypeAlias

class PublishMetadataResponse(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    SUCCESS_FIELD_NUMBER: _builtins.int
    MESSAGE_FIELD_NUMBER: _builtins.int
    MX_SOURCE_ID_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    success: _builtins.bool
    message: _builtins.str
    mx_source_id: _builtins.str
    worker_id: _builtins.str
    def __init__(self, *, success: _builtins.bool = ..., message: _builtins.str = ..., mx_source_id: _builtins.str = ..., worker_id: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___PublishMetadataResponse: _TypeAlias

class SourceInstanceRef(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    class TopologyEntry(_message.Message):
        DESCRIPTOR: _descriptor.Descriptor
        KEY_FIELD_NUMBER: _builtins.int
        VALUE_FIELD_NUMBER: _builtins.int
        key: _builtins.str
        value: _builtins.str
        def __init__(self, *, key: _builtins.str = ..., value: _builtins.str = ...) -> None: ...
        def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
        def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
        def WhichOneof(self, oneof_group: _Never) -> None: ...
    MX_SOURCE_ID_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    MODEL_NAME_FIELD_NUMBER: _builtins.int
    WORKER_RANK_FIELD_NUMBER: _builtins.int
    ACCELERATOR_FIELD_NUMBER: _builtins.int
    UPDATED_AT_FIELD_NUMBER: _builtins.int
    TRAINING_STEP_FIELD_NUMBER: _builtins.int
    LAYOUT_SIGNATURE_FIELD_NUMBER: _builtins.int
    TOPOLOGY_FIELD_NUMBER: _builtins.int
    SOURCE_LOAD_FIELD_NUMBER: _builtins.int
    mx_source_id: _builtins.str
    worker_id: _builtins.str
    model_name: _builtins.str
    worker_rank: _builtins.int
    accelerator: _builtins.str
    updated_at: _builtins.int
    training_step: _builtins.int
    layout_signature: _builtins.str
    source_load: _builtins.float
    @_builtins.property
    def topology(self) -> _containers.ScalarMap[_builtins.str, _builtins.str]: ...
    def __init__(self, *, mx_source_id: _builtins.str = ..., worker_id: _builtins.str = ..., model_name: _builtins.str = ..., worker_rank: _builtins.int = ..., accelerator: _builtins.str = ..., updated_at: _builtins.int = ..., training_step: _builtins.int | None = ..., layout_signature: _builtins.str | None = ..., topology: _abc.Mapping[_builtins.str, _builtins.str] | None = ..., source_load: _builtins.float | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__layout_signature) -> _WhichOneofReturnType__layout_signature | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__source_load) -> _WhichOneofReturnType__source_load | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__training_step) -> _WhichOneofReturnType__training_step | None: ...

Global___SourceInstanceRef: _TypeAlias

class ListSourcesRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    IDENTITY_FIELD_NUMBER: _builtins.int
    STATUS_FILTER_FIELD_NUMBER: _builtins.int
    MODEL_NAME_FILTER_FIELD_NUMBER: _builtins.int
    WORKER_RANK_FILTER_FIELD_NUMBER: _builtins.int
    MIN_TRAINING_STEP_FIELD_NUMBER: _builtins.int
    MIN_UPDATED_AT_FIELD_NUMBER: _builtins.int
    LIMIT_FIELD_NUMBER: _builtins.int
    status_filter: Global___SourceStatus.ValueType
    model_name_filter: _builtins.str
    worker_rank_filter: _builtins.int
    min_training_step: _builtins.int
    min_updated_at: _builtins.int
    limit: _builtins.int
    @_builtins.property
    def identity(self) -> Global___SourceIdentity: ...
    def __init__(self, *, identity: Global___SourceIdentity | None = ..., status_filter: Global___SourceStatus.ValueType | None = ..., model_name_filter: _builtins.str | None = ..., worker_rank_filter: _builtins.int | None = ..., min_training_step: _builtins.int | None = ..., min_updated_at: _builtins.int | None = ..., limit: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__limit) -> _WhichOneofReturnType__limit | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__min_training_step) -> _WhichOneofReturnType__min_training_step | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__min_updated_at) -> _WhichOneofReturnType__min_updated_at | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__model_name_filter) -> _WhichOneofReturnType__model_name_filter | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__status_filter) -> _WhichOneofReturnType__status_filter | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__worker_rank_filter) -> _WhichOneofReturnType__worker_rank_filter | None: ...

Global___ListSourcesRequest: _TypeAlias

class ListSourcesResponse(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    INSTANCES_FIELD_NUMBER: _builtins.int
    @_builtins.property
    def instances(self) -> _containers.RepeatedCompositeFieldContainer[Global___SourceInstanceRef]: ...
    def __init__(self, *, instances: _abc.Iterable[Global___SourceInstanceRef] | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___ListSourcesResponse: _TypeAlias

class GetMetadataRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    MX_SOURCE_ID_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    mx_source_id: _builtins.str
    worker_id: _builtins.str
    def __init__(self, *, mx_source_id: _builtins.str = ..., worker_id: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___GetMetadataRequest: _TypeAlias

class GetMetadataResponse(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    FOUND_FIELD_NUMBER: _builtins.int
    WORKER_FIELD_NUMBER: _builtins.int
    MX_SOURCE_ID_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    IDENTITY_FIELD_NUMBER: _builtins.int
    found: _builtins.bool
    mx_source_id: _builtins.str
    worker_id: _builtins.str
    @_builtins.property
    def worker(self) -> Global___WorkerMetadata: ...
    @_builtins.property
    def identity(self) -> Global___SourceIdentity: ...
    def __init__(self, *, found: _builtins.bool = ..., worker: Global___WorkerMetadata | None = ..., mx_source_id: _builtins.str = ..., worker_id: _builtins.str = ..., identity: Global___SourceIdentity | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___GetMetadataResponse: _TypeAlias

class UpdateStatusRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    MX_SOURCE_ID_FIELD_NUMBER: _builtins.int
    WORKER_RANK_FIELD_NUMBER: _builtins.int
    STATUS_FIELD_NUMBER: _builtins.int
    WORKER_ID_FIELD_NUMBER: _builtins.int
    SOURCE_LOAD_FIELD_NUMBER: _builtins.int
    mx_source_id: _builtins.str
    worker_rank: _builtins.int
    status: Global___SourceStatus.ValueType
    worker_id: _builtins.str
    source_load: _builtins.float
    def __init__(self, *, mx_source_id: _builtins.str = ..., worker_rank: _builtins.int = ..., status: Global___SourceStatus.ValueType = ..., worker_id: _builtins.str = ..., source_load: _builtins.float | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _WhichOneofArgType__source_load) -> _WhichOneofReturnType__source_load | None: ...

Global___UpdateStatusRequest: _TypeAlias

class UpdateStatusResponse(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    SUCCESS_FIELD_NUMBER: _builtins.int
    MESSAGE_FIELD_NUMBER: _builtins.int
    success: _builtins.bool
    message: _builtins.str
    def __init__(self, *, success: _builtins.bool = ..., message: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___UpdateStatusResponse: _TypeAlias
POOL: _DescriptorPool

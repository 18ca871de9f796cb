import builtins as _builtins
import typing as _typing
from _typeshed import Incomplete
from collections import abc as _abc
from google.protobuf import descriptor as _descriptor, message as _message
from google.protobuf.descriptor_pool import DescriptorPool as _DescriptorPool
from google.protobuf.internal import containers as _containers, enum_type_wrapper as _enum_type_wrapper
from typing import Never as _Never, TypeAlias as _TypeAlias

DESCRIPTOR: _descriptor.FileDescriptor

class _WorkerType:
    ValueType: Incomplete
    V: _TypeAlias

class _WorkerTypeEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_WorkerType.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    WORKER_TYPE_UNSPECIFIED: _WorkerType.ValueType
    WORKER_TYPE_REGULAR: _WorkerType.ValueType
    WORKER_TYPE_PREFILL: _WorkerType.ValueType
    WORKER_TYPE_DECODE: _WorkerType.ValueType

class WorkerType(_WorkerType, metaclass=_WorkerTypeEnumTypeWrapper): ...

WORKER_TYPE_UNSPECIFIED: WorkerType.ValueType
WORKER_TYPE_REGULAR: WorkerType.ValueType
WORKER_TYPE_PREFILL: WorkerType.ValueType
WORKER_TYPE_DECODE: WorkerType.ValueType
Global___WorkerType: _TypeAlias

class _ReportStatus:
    ValueType: Incomplete
    V: _TypeAlias

class _ReportStatusEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_ReportStatus.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    REPORT_STATUS_UNSPECIFIED: _ReportStatus.ValueType
    REPORT_STATUS_HEALTHY: _ReportStatus.ValueType
    REPORT_STATUS_STALE: _ReportStatus.ValueType
    REPORT_STATUS_UNREACHABLE: _ReportStatus.ValueType

class ReportStatus(_ReportStatus, metaclass=_ReportStatusEnumTypeWrapper): ...

REPORT_STATUS_UNSPECIFIED: ReportStatus.ValueType
REPORT_STATUS_HEALTHY: ReportStatus.ValueType
REPORT_STATUS_STALE: ReportStatus.ValueType
REPORT_STATUS_UNREACHABLE: ReportStatus.ValueType
Global___ReportStatus: _TypeAlias

class _WorkerState:
    ValueType: Incomplete
    V: _TypeAlias

class _WorkerStateEnumTypeWrapper(_enum_type_wrapper._EnumTypeWrapper[_WorkerState.ValueType], _builtins.type):
    DESCRIPTOR: _descriptor.EnumDescriptor
    WORKER_STATE_UNSPECIFIED: _WorkerState.ValueType
    WORKER_STATE_LOADING: _WorkerState.ValueType
    WORKER_STATE_SERVING: _WorkerState.ValueType
    WORKER_STATE_DRAINING: _WorkerState.ValueType
    WORKER_STATE_PAUSED: _WorkerState.ValueType

class WorkerState(_WorkerState, metaclass=_WorkerStateEnumTypeWrapper): ...

WORKER_STATE_UNSPECIFIED: WorkerState.ValueType
WORKER_STATE_LOADING: WorkerState.ValueType
WORKER_STATE_SERVING: WorkerState.ValueType
WORKER_STATE_DRAINING: WorkerState.ValueType
WORKER_STATE_PAUSED: WorkerState.ValueType
Global___WorkerState: _TypeAlias

class Worker(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    WORKER_ADDR_FIELD_NUMBER: _builtins.int
    WORKER_TYPE_FIELD_NUMBER: _builtins.int
    MODEL_FIELD_NUMBER: _builtins.int
    ZONE_FIELD_NUMBER: _builtins.int
    worker_addr: _builtins.str
    worker_type: Global___WorkerType.ValueType
    model: _builtins.str
    zone: _builtins.str
    def __init__(self, *, worker_addr: _builtins.str = ..., worker_type: Global___WorkerType.ValueType = ..., model: _builtins.str | None = ..., zone: _builtins.str | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__model) -> _WhichOneofReturnType__model | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__zone) -> _WhichOneofReturnType__zone | None: ...

Global___Worker: _TypeAlias

class RankLoad(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    DP_RANK_FIELD_NUMBER: _builtins.int
    SNAPSHOT_TIME_UNIX_MS_FIELD_NUMBER: _builtins.int
    NUM_RUNNING_REQS_FIELD_NUMBER: _builtins.int
    NUM_WAITING_REQS_FIELD_NUMBER: _builtins.int
    NUM_WAITING_UNCACHED_TOKENS_FIELD_NUMBER: _builtins.int
    NUM_USED_TOKENS_FIELD_NUMBER: _builtins.int
    NUM_TOTAL_TOKENS_FIELD_NUMBER: _builtins.int
    MAX_TOTAL_NUM_TOKENS_FIELD_NUMBER: _builtins.int
    MAX_RUNNING_REQUESTS_FIELD_NUMBER: _builtins.int
    TOKEN_USAGE_FIELD_NUMBER: _builtins.int
    GEN_THROUGHPUT_FIELD_NUMBER: _builtins.int
    CACHE_HIT_RATE_FIELD_NUMBER: _builtins.int
    UTILIZATION_FIELD_NUMBER: _builtins.int
    PREFILL_THROUGHPUT_FIELD_NUMBER: _builtins.int
    PREFILL_UNCACHED_TOKENS_TOTAL_FIELD_NUMBER: _builtins.int
    PREFILL_BUSY_US_TOTAL_FIELD_NUMBER: _builtins.int
    GENERATED_TOKENS_TOTAL_FIELD_NUMBER: _builtins.int
    UNKNOWN_FIELD_NUMBERS_FIELD_NUMBER: _builtins.int
    dp_rank: _builtins.int
    snapshot_time_unix_ms: _builtins.int
    num_running_reqs: _builtins.int
    num_waiting_reqs: _builtins.int
    num_waiting_uncached_tokens: _builtins.int
    num_used_tokens: _builtins.int
    num_total_tokens: _builtins.int
    max_total_num_tokens: _builtins.int
    max_running_requests: _builtins.int
    token_usage: _builtins.float
    gen_throughput: _builtins.float
    cache_hit_rate: _builtins.float
    utilization: _builtins.float
    prefill_throughput: _builtins.float
    prefill_uncached_tokens_total: _builtins.int
    prefill_busy_us_total: _builtins.int
    generated_tokens_total: _builtins.int
    @_builtins.property
    def unknown_field_numbers(self) -> _containers.RepeatedScalarFieldContainer[_builtins.int]: ...
    def __init__(self, *, dp_rank: _builtins.int = ..., snapshot_time_unix_ms: _builtins.int = ..., num_running_reqs: _builtins.int = ..., num_waiting_reqs: _builtins.int = ..., num_waiting_uncached_tokens: _builtins.int = ..., num_used_tokens: _builtins.int = ..., num_total_tokens: _builtins.int = ..., max_total_num_tokens: _builtins.int = ..., max_running_requests: _builtins.int = ..., token_usage: _builtins.float = ..., gen_throughput: _builtins.float = ..., cache_hit_rate: _builtins.float = ..., utilization: _builtins.float = ..., prefill_throughput: _builtins.float | None = ..., prefill_uncached_tokens_total: _builtins.int | None = ..., prefill_busy_us_total: _builtins.int | None = ..., generated_tokens_total: _builtins.int | None = ..., unknown_field_numbers: _abc.Iterable[_builtins.int] | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__generated_tokens_total) -> _WhichOneofReturnType__generated_tokens_total | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__prefill_busy_us_total) -> _WhichOneofReturnType__prefill_busy_us_total | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__prefill_throughput) -> _WhichOneofReturnType__prefill_throughput | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__prefill_uncached_tokens_total) -> _WhichOneofReturnType__prefill_uncached_tokens_total | None: ...

Global___RankLoad: _TypeAlias

class LoadReport(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    SOURCE_INSTANCE_ID_FIELD_NUMBER: _builtins.int
    SEQUENCE_ID_FIELD_NUMBER: _builtins.int
    REPORT_TIME_UNIX_MS_FIELD_NUMBER: _builtins.int
    WORKER_FIELD_NUMBER: _builtins.int
    STATUS_FIELD_NUMBER: _builtins.int
    LAST_ERROR_FIELD_NUMBER: _builtins.int
    RANKS_FIELD_NUMBER: _builtins.int
    MAX_SNAPSHOT_AGE_MS_FIELD_NUMBER: _builtins.int
    WORKER_STATE_FIELD_NUMBER: _builtins.int
    ACTIVE_ROUTERS_FIELD_NUMBER: _builtins.int
    source_instance_id: _builtins.str
    sequence_id: _builtins.int
    report_time_unix_ms: _builtins.int
    status: Global___ReportStatus.ValueType
    last_error: _builtins.str
    max_snapshot_age_ms: _builtins.int
    worker_state: Global___WorkerState.ValueType
    active_routers: _builtins.int
    @_builtins.property
    def worker(self) -> Global___Worker: ...
    @_builtins.property
    def ranks(self) -> _containers.RepeatedCompositeFieldContainer[Global___RankLoad]: ...
    def __init__(self, *, source_instance_id: _builtins.str = ..., sequence_id: _builtins.int = ..., report_time_unix_ms: _builtins.int = ..., worker: Global___Worker | None = ..., status: Global___ReportStatus.ValueType = ..., last_error: _builtins.str | None = ..., ranks: _abc.Iterable[Global___RankLoad] | None = ..., max_snapshot_age_ms: _builtins.int | None = ..., worker_state: Global___WorkerState.ValueType | None = ..., active_routers: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__active_routers) -> _WhichOneofReturnType__active_routers | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__last_error) -> _WhichOneofReturnType__last_error | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__max_snapshot_age_ms) -> _WhichOneofReturnType__max_snapshot_age_ms | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__worker_state) -> _WhichOneofReturnType__worker_state | None: ...

Global___LoadReport: _TypeAlias

class RouterFrame(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    REGISTER_FIELD_NUMBER: _builtins.int
    UPDATE_CONFIG_FIELD_NUMBER: _builtins.int
    KEEP_ALIVE_FIELD_NUMBER: _builtins.int
    STOP_FIELD_NUMBER: _builtins.int
    @_builtins.property
    def register(self) -> Global___RegisterRequest: ...
    @_builtins.property
    def update_config(self) -> Global___UpdateConfigRequest: ...
    @_builtins.property
    def keep_alive(self) -> Global___KeepAlive: ...
    @_builtins.property
    def stop(self) -> Global___StopRequest: ...
    def __init__(self, *, register: Global___RegisterRequest | None = ..., update_config: Global___UpdateConfigRequest | None = ..., keep_alive: Global___KeepAlive | None = ..., stop: Global___StopRequest | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _WhichOneofArgType_payload) -> _WhichOneofReturnType_payload | None: ...

Global___RouterFrame: _TypeAlias

class WorkerFrame(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    REGISTERED_FIELD_NUMBER: _builtins.int
    REPORT_FIELD_NUMBER: _builtins.int
    ERROR_FIELD_NUMBER: _builtins.int
    @_builtins.property
    def registered(self) -> Global___RegisterResponse: ...
    @_builtins.property
    def report(self) -> Global___LoadReport: ...
    @_builtins.property
    def error(self) -> Global___StreamError: ...
    def __init__(self, *, registered: Global___RegisterResponse | None = ..., report: Global___LoadReport | None = ..., error: Global___StreamError | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _WhichOneofArgType_payload) -> _WhichOneofReturnType_payload | None: ...

Global___WorkerFrame: _TypeAlias

class RegisterRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    ROUTER_ID_FIELD_NUMBER: _builtins.int
    REPORT_INTERVAL_MS_FIELD_NUMBER: _builtins.int
    LEASE_TTL_MS_FIELD_NUMBER: _builtins.int
    MAX_UNACKED_REPORTS_FIELD_NUMBER: _builtins.int
    router_id: _builtins.str
    report_interval_ms: _builtins.int
    lease_ttl_ms: _builtins.int
    max_unacked_reports: _builtins.int
    def __init__(self, *, router_id: _builtins.str = ..., report_interval_ms: _builtins.int = ..., lease_ttl_ms: _builtins.int = ..., max_unacked_reports: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _WhichOneofArgType__max_unacked_reports) -> _WhichOneofReturnType__max_unacked_reports | None: ...

Global___RegisterRequest: _TypeAlias

class RegisterResponse(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    LEASE_TTL_MS_FIELD_NUMBER: _builtins.int
    RENEW_AFTER_MS_FIELD_NUMBER: _builtins.int
    REPORT_INTERVAL_MS_FIELD_NUMBER: _builtins.int
    STALE_AFTER_MS_FIELD_NUMBER: _builtins.int
    SOURCE_INSTANCE_ID_FIELD_NUMBER: _builtins.int
    MIN_REPORT_INTERVAL_MS_FIELD_NUMBER: _builtins.int
    MAX_LEASE_TTL_MS_FIELD_NUMBER: _builtins.int
    lease_ttl_ms: _builtins.int
    renew_after_ms: _builtins.int
    report_interval_ms: _builtins.int
    stale_after_ms: _builtins.int
    source_instance_id: _builtins.str
    min_report_interval_ms: _builtins.int
    max_lease_ttl_ms: _builtins.int
    def __init__(self, *, lease_ttl_ms: _builtins.int = ..., renew_after_ms: _builtins.int = ..., report_interval_ms: _builtins.int | None = ..., stale_after_ms: _builtins.int | None = ..., source_instance_id: _builtins.str | None = ..., min_report_interval_ms: _builtins.int | None = ..., max_lease_ttl_ms: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__max_lease_ttl_ms) -> _WhichOneofReturnType__max_lease_ttl_ms | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__min_report_interval_ms) -> _WhichOneofReturnType__min_report_interval_ms | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__report_interval_ms) -> _WhichOneofReturnType__report_interval_ms | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__source_instance_id) -> _WhichOneofReturnType__source_instance_id | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__stale_after_ms) -> _WhichOneofReturnType__stale_after_ms | None: ...

Global___RegisterResponse: _TypeAlias

class UpdateConfigRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    REPORT_INTERVAL_MS_FIELD_NUMBER: _builtins.int
    LEASE_TTL_MS_FIELD_NUMBER: _builtins.int
    report_interval_ms: _builtins.int
    lease_ttl_ms: _builtins.int
    def __init__(self, *, report_interval_ms: _builtins.int | None = ..., lease_ttl_ms: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__lease_ttl_ms) -> _WhichOneofReturnType__lease_ttl_ms | None: ...
    @_typing.overload
    def WhichOneof(self, oneof_group: _WhichOneofArgType__report_interval_ms) -> _WhichOneofReturnType__report_interval_ms | None: ...

Global___UpdateConfigRequest: _TypeAlias

class KeepAlive(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    ACKED_SEQUENCE_ID_FIELD_NUMBER: _builtins.int
    acked_sequence_id: _builtins.int
    def __init__(self, *, acked_sequence_id: _builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _WhichOneofArgType__acked_sequence_id) -> _WhichOneofReturnType__acked_sequence_id | None: ...

Global___KeepAlive: _TypeAlias

class StopRequest(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    def __init__(self) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___StopRequest: _TypeAlias

class StreamError(_message.Message):
    DESCRIPTOR: _descriptor.Descriptor
    CODE_FIELD_NUMBER: _builtins.int
    MESSAGE_FIELD_NUMBER: _builtins.int
    code: _builtins.str
    message: _builtins.str
    def __init__(self, *, code: _builtins.str = ..., message: _builtins.str = ...) -> None: ...
    def HasField(self, field_name: _HasFieldArgType) -> _builtins.bool: ...
    def ClearField(self, field_name: _ClearFieldArgType) -> None: ...
    def WhichOneof(self, oneof_group: _Never) -> None: ...

Global___StreamError: _TypeAlias
POOL: _DescriptorPool

"""What stands in Redis is what modelexpress' Rust server writes and reads there."""

import json
import logging
import math
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from backend_conformance import NOW_MS, OTHER_SOURCE, SOURCE, key, record, state
from redis.asyncio import Redis
from redis_store import backend, server, store

from p2p_registry import Backend, BackendError, RecordRefusedError, SourceStatus, UpdateOutcome, WorkerRecord
from p2p_registry.wire import (
    ArtifactSourceMetadata,
    SourceIdentity,
    TensorDescriptor,
    TensorSourceMetadata,
    WorkerMetadata,
)
from p2p_registry.wire import SourceStatus as WireStatus
from p2p_registry.wire.registry_pb2 import BackendFramework

__all__ = ["backend", "server", "store"]

SOURCE_KEY = f"mx:source:{SOURCE}"
WORKER_KEY = f"mx:source:{SOURCE}:w"

# As the Rust server writes them: compact, in the order of its structures, 64-bit numbers of tensors as text.
RUST_ATTRIBUTES = (
    '{"model_name":"модель/Ж","mx_version":"0.7.0","mx_source_type":0,"backend_framework":2,"tensor_parallel_size":8,'
    '"pipeline_parallel_size":1,"expert_parallel_size":0,"dtype":"bfloat16","quantization":"","extra_parameters":'
    '{"training_step":"12","layout_signature":"l"},"revision":"","backend_framework_version":"","torch_version":"",'
    '"cuda_version":"","triton_version":"","gpu_arch":"","compile_config_digest":""}'
)
RUST_RECORD = (
    '{"worker_rank":3,"backend_type":"nixl","nixl_metadata":[0,255,32],"transfer_engine_session_id":null,"tensors":'
    '[{"name":"t","addr":"18446744073709551615","size":"9223372036854775808","device_id":7,"dtype":"bfloat16"}],'
    f'"status":1,"updated_at":{NOW_MS},"metadata_endpoint":"10.0.0.1:5555","agent_name":"agent",'
    '"worker_grpc_endpoint":"10.0.0.1:6555","accelerator":"cuda","source_load":null,"topology":{"rack":"r1"},'
    '"artifact_source":null}'
)
RUST_SMALL = (
    f'{{"worker_rank":3,"status":2,"updated_at":{NOW_MS + 5},"accelerator":"cuda","source_load":0.73,'
    '"topology":{"rack":"r1"}}'
)


async def put_as_rust(store: Redis, named: str = RUST_SMALL, small: str | None = RUST_SMALL) -> None:
    await store.hset(SOURCE_KEY, mapping={"__attributes__": RUST_ATTRIBUTES, "w": named})
    await store.hset(WORKER_KEY, "3", RUST_RECORD)
    if small is not None:
        await store.hset(WORKER_KEY, "status:3", small)


def strict_json(text: str | bytes | None) -> Any:
    """Parse as serde does, which knows no NaN."""

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    assert text is not None
    return json.loads(text, parse_constant=refuse)


async def get(backend: Backend, worker_id: str = "w") -> WorkerRecord:
    found = await backend.get(SOURCE, worker_id)
    assert found is not None
    return found


async def test_a_published_record_stands_where_the_rust_server_looks(backend: Backend, store: Redis) -> None:
    await backend.publish(record(key(rank=3)))

    assert sorted(await store.keys()) == [SOURCE_KEY, WORKER_KEY]
    source = await store.hgetall(SOURCE_KEY)
    worker = await store.hgetall(WORKER_KEY)
    assert source.keys() == {"__attributes__", "w"}
    assert source["w"] == "3"
    assert "модель/Ж" in source["__attributes__"]
    assert strict_json(source["__attributes__"]) == strict_json(RUST_ATTRIBUTES) | {
        "mx_version": "",
        "backend_framework": 0,
        "pipeline_parallel_size": 0,
        "dtype": "",
    }
    assert worker.keys() == {"3", "status:3"}
    whole = strict_json(worker["3"])
    assert whole.pop("p2p_registry_rest")
    assert whole == strict_json(RUST_RECORD) | {
        "nixl_metadata": list(b"\x00\xff nixl"),
        "topology": {"rack": "r1", "host": "höst"},
    }
    small = strict_json(worker["status:3"])
    assert small == {name: whole[name] for name in strict_json(RUST_SMALL)}


@pytest.mark.parametrize("named", ["", "3", RUST_SMALL], ids=["nothing", "the rank", "a copy"])
async def test_a_record_of_the_rust_server_is_read(backend: Backend, store: Redis, named: str) -> None:
    await put_as_rust(store, named)

    (summary,) = await backend.summaries(None)
    assert summary.key == key(rank=3)
    assert summary.state == state(SourceStatus.READY, NOW_MS + 5, 0.73)
    assert (summary.model_name, summary.accelerator, summary.topology) == ("модель/Ж", "cuda", {"rack": "r1"})
    assert (summary.training_step, summary.layout_signature) == (12, "l")
    found = await get(backend)
    assert found.summary == summary
    assert SourceIdentity.FromString(found.identity) == SourceIdentity(
        model_name="модель/Ж",
        mx_version="0.7.0",
        backend_framework=BackendFramework.BACKEND_FRAMEWORK_SGLANG,
        tensor_parallel_size=8,
        pipeline_parallel_size=1,
        dtype="bfloat16",
        extra_parameters={"training_step": "12", "layout_signature": "l"},
    )
    tensors = [TensorDescriptor(name="t", addr=2**64 - 1, size=2**63, device_id=7, dtype="bfloat16")]
    assert WorkerMetadata.FromString(found.metadata) == WorkerMetadata(
        worker_rank=3,
        nixl_metadata=b"\x00\xff ",
        status=WireStatus.SOURCE_STATUS_INITIALIZING,
        updated_at=NOW_MS,
        metadata_endpoint="10.0.0.1:5555",
        agent_name="agent",
        worker_grpc_endpoint="10.0.0.1:6555",
        accelerator="cuda",
        topology={"rack": "r1"},
        # Both, as the Rust server answers.
        tensors=tensors,
        tensor_source=TensorSourceMetadata(tensors=tensors),
    )


async def test_a_record_from_before_the_small_field_is_read_and_gets_one_with_its_first_heartbeat(
    backend: Backend, store: Redis
) -> None:
    await put_as_rust(store, "3", None)
    (summary,) = await backend.summaries(None)
    assert summary.state == state(SourceStatus.INITIALIZING, NOW_MS)
    assert summary.topology == {"rack": "r1"}
    assert (await get(backend)).summary == summary
    assert await backend.update_state(key(rank=3), state(updated_at_ms=NOW_MS - 1)) is UpdateOutcome.OLDER

    assert await backend.update_state(key(rank=3), state(source_load=0.73)) is UpdateOutcome.APPLIED
    assert strict_json(await store.hget(WORKER_KEY, "status:3")) == strict_json(RUST_SMALL) | {"updated_at": NOW_MS}
    (listed,) = await backend.summaries(None)
    assert listed.topology == {"rack": "r1"}
    assert await backend.mark_stale(SOURCE, "w", NOW_MS)
    assert await backend.remove(SOURCE, "w", NOW_MS)
    assert await store.keys() == []


async def test_a_record_from_before_the_small_field_can_be_marked_and_keeps_its_load(
    backend: Backend, store: Redis
) -> None:
    await put_as_rust(store, "", None)
    await store.hset(WORKER_KEY, "3", RUST_RECORD.replace('"source_load":null', '"source_load":0.1'))
    assert await backend.mark_stale(SOURCE, "w", NOW_MS)
    (summary,) = await backend.summaries(None)
    assert summary.state == state(SourceStatus.STALE, NOW_MS, 0.1)
    assert summary.accelerator == "cuda"


async def test_a_small_field_older_than_the_record_does_not_count_when_it_is_read(
    backend: Backend, store: Redis
) -> None:
    await put_as_rust(store, "3", RUST_SMALL.replace(str(NOW_MS + 5), str(NOW_MS - 1)))
    assert (await get(backend)).summary.state == state(SourceStatus.INITIALIZING, NOW_MS)


async def test_a_record_of_a_release_with_fewer_members_is_read(backend: Backend, store: Redis) -> None:
    await store.hset(SOURCE_KEY, mapping={"__attributes__": '{"model_name":"m"}', "w": ""})
    await store.hset(WORKER_KEY, "0", '{"worker_rank":0,"model_name":"m","nixl_metadata":[7],"tensors":[]}')
    found = await get(backend)
    assert found.summary.model_name == "m"
    assert found.summary.state == state(SourceStatus.UNKNOWN, 0)
    assert WorkerMetadata.FromString(found.metadata).nixl_metadata == b"\x07"


async def test_a_heartbeat_and_a_mark_refresh_the_copy_that_a_rust_server_lists_from(
    backend: Backend, store: Redis
) -> None:
    await put_as_rust(store)
    await backend.update_state(key(rank=3), state(SourceStatus.READY, NOW_MS + 9, None))
    copy = await store.hget(SOURCE_KEY, "w")
    assert strict_json(copy) == strict_json(RUST_SMALL) | {"updated_at": NOW_MS + 9, "source_load": None}
    assert copy == await store.hget(WORKER_KEY, "status:3")
    await backend.mark_stale(SOURCE, "w", NOW_MS + 9)
    assert strict_json(await store.hget(SOURCE_KEY, "w"))["status"] == 3


async def test_a_heartbeat_of_another_rank_leaves_that_copy_alone(backend: Backend, store: Redis) -> None:
    await put_as_rust(store)
    await store.hset(WORKER_KEY, "4", RUST_RECORD.replace('"worker_rank":3', '"worker_rank":4'))
    assert await backend.update_state(key(rank=4), state(updated_at_ms=NOW_MS + 9)) is UpdateOutcome.APPLIED
    assert await store.hget(SOURCE_KEY, "w") == RUST_SMALL


async def test_a_heartbeat_neither_reads_nor_writes_the_record(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    await store.hset(WORKER_KEY, "0", "unreadable")
    assert await backend.update_state(key(), state(source_load=0.73)) is UpdateOutcome.APPLIED
    assert await store.hget(WORKER_KEY, "0") == "unreadable"
    (summary,) = await backend.summaries(SOURCE)
    assert summary.state.source_load == 0.73
    assert summary.topology == {"rack": "r1", "host": "höst"}


@pytest.mark.parametrize("load", [math.nan, math.inf, -math.inf])
async def test_a_load_that_json_has_no_number_for_is_unknown_to_the_rust_server(
    backend: Backend, store: Redis, load: float
) -> None:
    await backend.publish(record())
    await backend.update_state(key(), state(source_load=load))
    assert strict_json(await store.hget(WORKER_KEY, "status:0"))["source_load"] is None
    await backend.mark_stale(SOURCE, "w", NOW_MS)
    assert strict_json(await store.hget(WORKER_KEY, "status:0"))["source_load"] is None
    # The Rust server's next heartbeat has no such member, and its load counts.
    await store.hset(WORKER_KEY, "status:0", RUST_SMALL)
    (summary,) = await backend.summaries(SOURCE)
    assert summary.state.source_load == 0.73


async def test_an_unset_load_is_null_and_zero_is_zero(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    assert '"source_load":null' in str(await store.hget(WORKER_KEY, "status:0"))
    await backend.update_state(key(), state(source_load=0.0))
    assert '"source_load":0.0' in str(await store.hget(WORKER_KEY, "status:0"))


def _session(worker: WorkerMetadata) -> None:
    worker.transfer_engine_session_id = "10.0.0.1:9000"


def _empty_session(worker: WorkerMetadata) -> None:
    worker.transfer_engine_session_id = ""


def _empty_nixl(worker: WorkerMetadata) -> None:
    worker.nixl_metadata = b""


def _no_backend(worker: WorkerMetadata) -> None:
    worker.ClearField("backend_metadata")


def _artifact(worker: WorkerMetadata) -> None:
    worker.artifact_source.CopyFrom(
        ArtifactSourceMetadata(artifact_id="a", total_size=2**64 - 1, file_count=3, chunk_count=4, node_rank=5)
    )


def _old_field(worker: WorkerMetadata) -> None:
    worker.tensors.extend(worker.tensor_source.tensors)
    worker.ClearField("tensor_source")


def _both_fields(worker: WorkerMetadata) -> None:
    worker.tensors.extend(worker.tensor_source.tensors)


def _no_tensors(worker: WorkerMetadata) -> None:
    worker.ClearField("tensor_source")


def _own_status(worker: WorkerMetadata) -> None:
    worker.status = WireStatus.SOURCE_STATUS_READY
    worker.updated_at = 77


def _newer_release(worker: WorkerMetadata) -> None:
    worker.MergeFromString(b"\xba\x3e\x03new")  # field 999


@pytest.mark.parametrize(
    "change",
    [
        _session,
        _empty_session,
        _empty_nixl,
        _no_backend,
        _artifact,
        _old_field,
        _both_fields,
        _no_tensors,
        _own_status,
        _newer_release,
    ],
)
async def test_metadata_of_every_kind_comes_back_as_it_was(
    backend: Backend, change: Callable[[WorkerMetadata], None]
) -> None:
    published = record()
    worker = WorkerMetadata.FromString(published.metadata)
    change(worker)
    metadata = worker.SerializeToString(deterministic=True)
    await backend.publish(WorkerRecord(summary=published.summary, identity=published.identity, metadata=metadata))
    found = WorkerMetadata.FromString((await get(backend)).metadata)
    assert found.SerializeToString(deterministic=True) == metadata


async def test_an_identity_comes_back_with_every_field(backend: Backend) -> None:
    identity = SourceIdentity()
    for number, field in enumerate(SourceIdentity.DESCRIPTOR.fields):
        if field.name == "extra_parameters":
            identity.extra_parameters.update({"Ключ": 'зн"ач', "b": ""})
        elif field.has_default_value or field.cpp_type == field.CPPTYPE_STRING:
            setattr(identity, field.name, f"Ж{number}")
        else:
            setattr(identity, field.name, number)
    published = record()
    await backend.publish(
        WorkerRecord(summary=published.summary, identity=identity.SerializeToString(), metadata=published.metadata)
    )
    assert SourceIdentity.FromString((await get(backend)).identity) == identity


@pytest.mark.parametrize("lost", [SOURCE_KEY, WORKER_KEY])
async def test_half_of_a_registration_is_none(backend: Backend, store: Redis, lost: str) -> None:
    await backend.publish(record())
    await store.delete(lost)
    assert await backend.update_state(key(), state()) is UpdateOutcome.NOT_REGISTERED
    assert list(await backend.summaries(None)) == []
    await backend.publish(record())
    assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED
    assert (await get(backend)).summary.model_name == "модель/Ж"


async def test_the_source_goes_with_its_last_worker_and_not_before(backend: Backend, store: Redis) -> None:
    await backend.publish(record(key("a")))
    await backend.publish(record(key("b")))
    assert await backend.remove(SOURCE, "a", NOW_MS)
    assert (await store.hgetall(SOURCE_KEY)).keys() == {"__attributes__", "b"}
    assert await backend.remove(SOURCE, "b", NOW_MS)
    assert await store.keys() == []


async def test_a_worker_id_that_is_the_field_of_the_attributes_is_refused_and_harms_nothing(
    backend: Backend, store: Redis
) -> None:
    await backend.publish(record())
    before = await store.hgetall(SOURCE_KEY)
    reserved = key("__attributes__")
    with pytest.raises(
        RecordRefusedError, match="worker '__attributes__' of source '0123456789abcdef' has no place in Redis"
    ):
        await backend.publish(record(reserved))
    assert await backend.update_state(reserved, state()) is UpdateOutcome.NOT_REGISTERED
    assert await backend.get(SOURCE, "__attributes__") is None
    assert not await backend.mark_stale(SOURCE, "__attributes__", NOW_MS)
    assert not await backend.remove(SOURCE, "__attributes__", NOW_MS)
    assert await store.hgetall(SOURCE_KEY) == before


async def test_a_source_id_cannot_be_made_to_name_another_sources_worker(backend: Backend, store: Redis) -> None:
    await backend.publish(record(key("a:b")))
    crafted = f"{SOURCE}:a"
    assert await backend.get(crafted, "b") is None
    assert await backend.update_state(key("b", source_id=crafted), state()) is UpdateOutcome.NOT_REGISTERED
    assert not await backend.remove(crafted, "b", NOW_MS)
    assert list(await backend.summaries(crafted)) == []
    with pytest.raises(BackendError, match="a source id is 16 hexadecimal digits"):
        await backend.publish(record(key("b", source_id=crafted)))
    assert sorted(await store.keys()) == [SOURCE_KEY, f"{SOURCE_KEY}:a:b"]


@pytest.mark.parametrize(
    "small",
    [
        "not JSON",
        "[]",
        "",
        '{"updated_at":"soon"}',
        '{"updated_at":1e300}',
        '{"source_load":"much"}',
        '{"accelerator":7}',
        '{"topology":{"rack":1}}',
        '{"topology":null}',
        "{}\0{}",
    ],
)
async def test_a_worker_that_cannot_be_read_is_left_out_of_a_listing_and_named_in_the_log(
    backend: Backend, store: Redis, caplog: pytest.LogCaptureFixture, small: str
) -> None:
    await backend.publish(record(key("good")))
    await backend.publish(record(key("bäd\0")))
    await store.hset(f"{SOURCE_KEY}:bäd\0", "status:0", small)
    with caplog.at_level(logging.WARNING):
        assert [summary.key.worker_id for summary in await backend.summaries(None)] == ["good"]
    assert [entry.getMessage() for entry in caplog.records] == [
        'workers of source 0123456789abcdef can\'t be read in Redis: "bäd\\u0000"',
    ]


@pytest.mark.parametrize(
    "attributes", ["not JSON", "[]", '{"model_name":7}', '{"model_name":"m","extra_parameters":{"version":1}}']
)
async def test_a_source_that_cannot_be_read_is_left_out_of_a_listing_and_named_in_the_log(
    backend: Backend, store: Redis, caplog: pytest.LogCaptureFixture, attributes: str
) -> None:
    await backend.publish(record(key("a", source_id=OTHER_SOURCE)))
    await backend.publish(record())
    await store.hset(f"mx:source:{OTHER_SOURCE}", "__attributes__", attributes)
    with caplog.at_level(logging.WARNING):
        assert [summary.key.worker_id for summary in await backend.summaries(None)] == ["w"]
    assert [entry.getMessage() for entry in caplog.records] == [
        f'workers of source {OTHER_SOURCE} can\'t be read in Redis: "a"'
    ]


async def test_keys_of_other_programs_that_look_like_sources_are_no_sources(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    await store.set("mx:source:aaaaaaaaaaaaaaaa", "a text")
    await store.hset("mx:source:nothing-of-ours!", "w", "0")
    await store.hset("mx:source:bbbbbbbbbbbbbbbb", "w", "0")
    assert [summary.key for summary in await backend.summaries(None)] == [key()]


async def test_a_record_that_cannot_be_read_is_an_error_that_says_so(backend: Backend, store: Redis) -> None:
    await backend.publish(record())
    await store.hset(WORKER_KEY, "0", "[]")
    with pytest.raises(BackendError, match="worker 'w' of source 0123456789abcdef can't be read in Redis: TypeError"):
        await backend.get(SOURCE, "w")


async def test_sources_beyond_one_script_are_all_listed(backend: Backend) -> None:
    ids = [f"{number:016x}" for number in range(250)]
    for source_id in ids:
        await backend.publish(record(key(source_id=source_id)))
    assert sorted(summary.key.source_id for summary in await backend.summaries(None)) == ids

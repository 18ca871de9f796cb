"""Records as custom resources: what `kubectl` and modelexpress' server see of them, and that nothing gets lost on the way."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from backend_conformance import NOW_MS, SOURCE, key, record, state
from hypothesis import given
from hypothesis import strategies as st
from kubernetes_api import merge
from kubernetes_schema import as_stored, faults, prune

from p2p_registry import BackendError, PodReference, RecordRefusedError, SourceStatus, WorkerRecord, WorkerState
from p2p_registry.kubernetes.crd import custom_resource_definition
from p2p_registry.kubernetes.merging import difference, dropped
from p2p_registry.kubernetes.names import object_name
from p2p_registry.kubernetes.objects import (
    entry_of,
    new_object,
    publication_patch,
    record_of,
    states_patch,
    tensors_config_map,
)
from p2p_registry.wire import (
    ArtifactSourceMetadata,
    SourceIdentity,
    TensorDescriptor,
    TensorSourceMetadata,
    WorkerMetadata,
)

Object = dict[str, Any]

(VERSION,) = custom_resource_definition()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
UID = "5f0c2f1e-0000-4000-8000-000000000001"


def made(new: Object, version: int = 5) -> Object:
    return new | {"metadata": new["metadata"] | {"uid": UID, "resourceVersion": str(version), "generation": 1}}


def stored(found: Object, patch: Object) -> Object:
    """The object after a status patch, if an API server takes it and keeps all of it."""
    assert patch["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]
    status = json.loads(json.dumps(merge(found.get("status", {}), patch["status"]), allow_nan=False))
    assert list(faults(status, SCHEMA["properties"]["status"])) == []
    assert prune(status, SCHEMA["properties"]["status"]) == status
    assert list(dropped(patch["status"], status)) == []
    changed: Object = as_stored(made(found | {"status": status}, int(found["metadata"]["resourceVersion"]) + 1))
    return changed


def published(new: WorkerRecord, found: Object | None = None) -> tuple[Object, Object | None]:
    found = found or made(new_object(new))
    config_map = tensors_config_map(new, found)
    patch = publication_patch(new, found, None if config_map is None else config_map["metadata"]["name"])
    return stored(found, patch), config_map


def content(config_map: Object | None) -> dict[str, str] | None:
    return None if config_map is None else {key: text for key, text in config_map["data"].items() if text is not None}


def test_a_worker_looks_as_modelexpress_has_it() -> None:
    found, config_map = published(record(key("3f2504e0-4f89"), state(SourceStatus.READY, NOW_MS, 0.25)))
    name = f"mx-source-{SOURCE}-3f2504e0-4f89"
    assert (found["apiVersion"], found["kind"]) == ("modelexpress.nvidia.com/v1alpha1", "ModelMetadata")
    assert found["metadata"]["name"] == name
    assert found["metadata"]["labels"] == {
        "modelexpress.nvidia.com/mx-source-id": SOURCE,
        "modelexpress.nvidia.com/mx-worker-id": "3f2504e0-4f89",
    }
    assert found["spec"] == {"modelName": "модель/Ж", "sourceType": "weights"}
    assert found["status"] == {
        "worker": {
            "workerRank": 0,
            "backendType": "nixl",
            "nixlMetadata": "AP8gbml4bA==",
            "tensorCount": 1,
            "tensorConfigMap": f"{name}-tensors-worker-0",
            "metadataEndpoint": "10.0.0.1:5555",
            "agentName": "agent",
            "workerGrpcEndpoint": "10.0.0.1:6555",
            "accelerator": "cuda",
            "topology": {"rack": "r1", "host": "höst"},
            "status": "Ready",
            "updatedAt": "2027-01-15T08:00:00.000Z",
            "sourceLoad": 0.25,
        },
        "earlierRanks": {},
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "WorkerReady",
                "message": "the worker's last update said Ready",
                "lastTransitionTime": "2027-01-15T08:00:00.000Z",
            }
        ],
        "publishedAt": "2027-01-15T08:00:00.000Z",
        "observedGeneration": 1,
    }
    assert config_map is not None
    assert config_map["metadata"] == {
        "name": f"{name}-tensors-worker-0",
        "labels": {"modelexpress.nvidia.com/mx-source-id": SOURCE, "modelexpress.nvidia.com/worker": "0"},
        "ownerReferences": [
            {"apiVersion": "modelexpress.nvidia.com/v1alpha1", "kind": "ModelMetadata", "name": name, "uid": UID}
        ],
    }
    assert json.loads(config_map["data"]["tensors.json"]) == [
        {"name": "t", "addr": str(2**64 - 1), "size": str(2**63), "device_id": 7, "dtype": "bfloat16"}
    ]


def test_a_worker_that_modelexpress_server_wrote_is_read() -> None:
    name = f"mx-source-{SOURCE}-f3a2b1c4"
    worker = {
        "workerRank": 2,
        "backendType": "nixl",
        "nixlMetadata": "AQI=",
        "tensorCount": 1,
        "tensorConfigMap": f"{name}-tensors-worker-2",
        "status": "Ready",
        "updatedAt": "2027-01-15T08:00:00.123456789+00:00",
        "metadataEndpoint": "",
        "sourceLoad": 0.5,
    }
    found: Object = {
        "metadata": {"name": name, "uid": UID, "resourceVersion": "7", "labels": {}},
        "spec": {"modelName": "deepseek-ai/DeepSeek-V3", "sourceType": "triton_cache"},
        "status": {"worker": worker, "observedGeneration": 1, "conditions": []},
    }
    tensors = {"tensors.json": '[{"name": "w", "addr": "1", "size": "2", "device_id": 0, "dtype": "float16"}]'}
    read = record_of(found, tensors)
    assert read.summary.key == key("f3a2b1c4", rank=2)
    assert read.summary.state == WorkerState(status=SourceStatus.READY, updated_at_ms=NOW_MS + 123, source_load=0.5)
    assert read.summary.model_name == "deepseek-ai/DeepSeek-V3"
    identity = SourceIdentity.FromString(read.identity)
    assert (identity.model_name, identity.mx_source_type) == ("deepseek-ai/DeepSeek-V3", 4)
    metadata = WorkerMetadata.FromString(read.metadata)
    assert metadata.nixl_metadata == b"\x01\x02"
    assert [tensor.name for tensor in metadata.tensor_source.tensors] == ["w"]
    # Its earliest objects have no type of source, no state and no type of metadata.
    del found["spec"]["sourceType"]
    found["status"] = {"worker": {"workerRank": 0, "transferEngineSessionId": "10.0.0.1:9"}}
    read = record_of(found, None)
    assert read.summary.state == WorkerState(status=SourceStatus.UNKNOWN, updated_at_ms=0, source_load=None)
    assert WorkerMetadata.FromString(read.metadata).transfer_engine_session_id == "10.0.0.1:9"


texts = st.text(max_size=8)
uint32s = st.integers(0, 2**32 - 1)
uint64s = st.integers(0, 2**64 - 1)
tensor_lists = st.lists(
    st.builds(TensorDescriptor, name=texts, addr=uint64s, size=uint64s, device_id=uint32s, dtype=texts), max_size=3
)
artifacts = st.builds(
    ArtifactSourceMetadata,
    artifact_id=texts,
    total_size=st.integers(0, 2**63 - 1),
    file_count=uint32s,
    chunk_count=uint32s,
    node_rank=uint32s,
)
payloads: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.builds(lambda tensors: {"tensors": tensors}, tensor_lists),
    st.builds(lambda tensors: {"tensor_source": TensorSourceMetadata(tensors=tensors)}, tensor_lists),
    st.builds(lambda artifact: {"artifact_source": artifact}, artifacts),
)
transports: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.builds(lambda data: {"nixl_metadata": data}, st.binary(max_size=8)),
    st.builds(lambda session: {"transfer_engine_session_id": session}, texts),
)
workers = st.builds(
    lambda payload, transport, topology, some: WorkerMetadata(topology=topology, **payload, **transport, **some),
    payloads,
    transports,
    st.dictionaries(texts, texts, max_size=3),
    st.fixed_dictionaries(
        dict.fromkeys(("metadata_endpoint", "agent_name", "worker_grpc_endpoint", "accelerator"), texts)
        | {"worker_rank": uint32s}
    ),
)
states = st.builds(
    WorkerState,
    status=st.sampled_from(SourceStatus),
    updated_at_ms=st.integers(0, 2**42),
    source_load=st.none() | st.floats(width=32),
)


def of(worker: WorkerMetadata, latest: WorkerState) -> WorkerRecord:
    base = record(key("w", worker.worker_rank), latest)
    summary = replace(base.summary, accelerator=worker.accelerator, topology=dict(worker.topology))
    return replace(base, summary=summary, metadata=worker.SerializeToString(deterministic=True))


def same(one: WorkerState, other: WorkerState) -> bool:
    """Equality under which NaN is itself and the zeros are two."""
    return repr(one) == repr(other)


@given(workers, states, workers, states)
def test_a_record_comes_back_whole_also_in_place_of_any_other(
    first: WorkerMetadata, first_state: WorkerState, second: WorkerMetadata, second_state: WorkerState
) -> None:
    found, config_map = published(of(first, first_state))
    before = record_of(found, content(config_map))
    assert WorkerMetadata.FromString(before.metadata) == first
    assert same(before.summary.state, first_state)

    found, config_map = published(of(second, second_state), found)
    after = record_of(found, content(config_map))
    assert WorkerMetadata.FromString(after.metadata) == second
    assert same(after.summary.state, second_state)
    assert after.summary.topology == dict(second.topology)
    assert SourceIdentity.FromString(after.identity) == SourceIdentity.FromString(record().identity)
    ranks = dict(entry.states()) if (entry := entry_of(found)) else {}
    assert same(ranks[first.worker_rank], first_state if first.worker_rank != second.worker_rank else second_state)


@given(st.lists(states, min_size=1, max_size=4))
def test_updates_leave_nothing_of_the_state_before(updates: list[WorkerState]) -> None:
    found, _ = published(record(key(rank=1), state(source_load=math.nan)))
    found, _ = published(record(key(rank=0), state(source_load=0.5)), found)
    for number, update in enumerate(updates):
        entry = entry_of(found)
        assert entry is not None
        rank = number % 2
        found = stored(found, states_patch(entry, {rank: update}))
        entry = entry_of(found)
        assert entry is not None
        assert same(dict(entry.states())[rank], update)


def test_what_modelexpress_server_leaves_of_an_update_of_ours_does_not_count() -> None:
    found, _ = published(record(key(rank=1), state(SourceStatus.READY, NOW_MS)))
    found, _ = published(record(key(rank=0), state(SourceStatus.READY, NOW_MS, math.nan)), found)
    for load in (0.5, None):
        theirs = {
            "worker": {
                "workerRank": 1,
                "status": "Stale",
                "updatedAt": "2027-01-15T08:00:01.5+00:00",
                "sourceLoad": load,
            }
        }
        later = made(found | {"status": merge(found["status"], theirs)})
        assert "exactSourceLoad" in later["status"]["worker"]
        entry = entry_of(later)
        assert entry is not None
        assert dict(entry.states()) == {1: state(SourceStatus.STALE, NOW_MS + 1500, load)}


def test_the_condition_ready_changes_its_time_only_where_it_changes() -> None:
    found, _ = published(record(latest=state(SourceStatus.INITIALIZING, NOW_MS)))
    seen = []
    for status, at in (
        (SourceStatus.STALE, NOW_MS + 1000),
        (SourceStatus.READY, NOW_MS + 2000),
        (SourceStatus.READY, NOW_MS + 3000),
        (SourceStatus.STALE, NOW_MS + 4000),
    ):
        entry = entry_of(found)
        assert entry is not None
        patch = states_patch(entry, {0: state(status, at)})
        found = stored(found, patch)
        (condition,) = found["status"]["conditions"]
        seen.append((condition["reason"], condition["status"], condition["lastTransitionTime"][17:19]))
        assert ("conditions" in patch["status"]) == (at != NOW_MS + 3000)
    assert seen == [
        ("WorkerStale", "False", "00"),
        ("WorkerReady", "True", "02"),
        ("WorkerReady", "True", "02"),
        ("WorkerStale", "False", "04"),
    ]


def test_a_pod_owns_its_workers_object_without_holding_up_its_own_end() -> None:
    new = new_object(replace(record(), pod=PodReference(name="p", uid="u", namespace="n")))
    assert new["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]
    assert "ownerReferences" not in new_object(record())["metadata"]


def test_names_are_modelexpress_own_where_they_can_be_and_never_shared() -> None:
    plain = ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "w", "0", "rank0.replica1", "a" * 63]
    assert [object_name(SOURCE, each) for each in plain] == [f"mx-source-{SOURCE}-{each}" for each in plain]
    odd = ["W", "w ", "a/../b", "a/b", "a:b", "a..b", "a.-b", "-a", "a-", ".a", "a.", "ж", "a\n", "", "a" * 64, "%2f"]
    names = [object_name(SOURCE, each) for each in odd]
    assert len({*names, *plain}) == len(odd) + len(plain)
    assert all(name is not None and len(name) < 100 and name.isascii() and name.islower() for name in names)
    # Not even a worker that calls itself as another one's name ends.
    assert names[0] is not None
    assert object_name(SOURCE, names[0].rpartition("-")[2]) not in names


@pytest.mark.parametrize(
    "source_id", ["", "0123456789abcde", "0123456789ABCDEF", "../../secrets/aaa", "0123456789abcde\n"]
)
def test_an_id_that_is_no_source_has_no_name_and_is_not_stored(source_id: str) -> None:
    assert object_name(source_id, "w") is None
    with pytest.raises(BackendError, match="16 hexadecimal digits"):
        new_object(record(key(source_id=source_id)))


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"name": "something-else", "uid": UID, "resourceVersion": "1"}},
        {"metadata": {"name": f"mx-source-{SOURCE}-W", "uid": UID, "resourceVersion": "1"}},
        {"metadata": {"name": f"mx-source-{SOURCE}-w", "uid": UID, "resourceVersion": "one"}},
        {"status": {"worker": {"status": "Ready"}}},
        {"status": {"worker": {"workerRank": "x"}}},
        {"status": {"worker": {"workerRank": 0, "sourceLoad": "much"}}},
        {"status": {"worker": {"workerRank": 0, "exactSourceLoad": {"text": "nan"}}}},
        {"status": {"worker": {"workerRank": 0}, "earlierRanks": {"one": {}}}},
        {"status": {"worker": {"workerRank": 0}, "conditions": ["Ready"]}},
        {"spec": {}},
    ],
)
def test_an_object_that_makes_no_sense_is_no_worker(broken: Object) -> None:
    found, _ = published(record())
    del found["metadata"]["annotations"]
    assert entry_of(found) is not None
    assert entry_of(found | broken) is None


def test_content_that_makes_no_sense_is_told() -> None:
    found, config_map = published(record())
    for tensors in ({}, {"tensors.json": "["}, {"tensors.json": '[{"name": "t"}]'}, {"tensors.json": "7"}):
        with pytest.raises(BackendError, match=f"object mx-source-{SOURCE}-w can't be read: "):
            record_of(found, tensors)
    found["status"]["worker"]["nixlMetadata"] = "!"
    with pytest.raises(BackendError, match="can't be read: Error: "):
        record_of(found, content(config_map))


def test_an_artifact_larger_than_an_integer_of_kubernetes_is_refused() -> None:
    worker = WorkerMetadata(artifact_source=ArtifactSourceMetadata(artifact_id="a", total_size=2**63))
    with pytest.raises(
        RecordRefusedError, match=f"total_size={2**63} can't be stored: Kubernetes' integers end at {2**63 - 1}"
    ):
        published(of(worker, state()))


values: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 2) | st.text("ab", max_size=1) | st.lists(st.integers(0, 1), max_size=2),
    lambda inner: st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=6,
)
documents = st.dictionaries(st.text("ab", max_size=1), values, max_size=3)


@given(documents, documents)
def test_the_difference_makes_one_document_into_the_other(before: Object, after: Object) -> None:
    assert merge(before, difference(before, after)) == after
    assert difference(after, after) == {}


def test_what_was_dropped_is_named_once_at_its_top() -> None:
    patch = {"a": {"b": 1, "c": None, "d": {"e": 1}}, "f": {"g": 1}, "h": 0}
    assert list(dropped(patch, {"a": {"b": 2}, "h": 1})) == ["a.d", "f"]


def test_the_columns_of_kubectl_are_paths_of_the_schema() -> None:
    columns = {column["name"]: column["jsonPath"] for column in VERSION["additionalPrinterColumns"]}
    assert {"Rank", "Status", "Load", "Updated"} <= columns.keys()
    for path in columns.values():
        schema = SCHEMA
        if not path.startswith(".metadata."):
            for part in path[1:].split("."):
                schema = schema["properties"][part]
    assert SCHEMA["properties"]["status"]["properties"]["worker"]["properties"]["sourceLoad"]["nullable"] is True

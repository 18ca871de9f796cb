"""The store in Kubernetes: the real client library over HTTP against an API server, which `test_kubernetes_api.py` tests first."""

import asyncio
import hashlib
import json
import logging
import math
import re
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from backend_conformance import NOW_MS, SOURCE, BackendConformance, key, record, state
from kubernetes_api import NAMESPACE, KubernetesApi, Request, kubernetes_api
from lightkube import KubeConfig

from p2p_registry import (
    Backend,
    BackendError,
    InvalidBackendUrlError,
    MissingExtraError,
    PodReference,
    RegistryService,
    UpdateOutcome,
    WorkerSummary,
    open_backend,
)
from p2p_registry.cli._cluster import ROLE_RULES
from p2p_registry.kubernetes import KubernetesBackend
from p2p_registry.kubernetes._lightkube import LightkubeApi
from p2p_registry.kubernetes.crd import custom_resource_definition
from p2p_registry.wire import PublishMetadataRequest, SourceIdentity, TensorDescriptor, WorkerMetadata


@pytest.fixture
async def api() -> AsyncIterator[KubernetesApi]:
    async with kubernetes_api(custom_resource_definition()) as serving:
        yield serving


def config_of(api: KubernetesApi) -> KubeConfig:
    return KubeConfig.from_dict(api.kubeconfig())


class SettledBackend(KubernetesBackend):
    """Lists only what there is when it is asked: waits until its watch has told what another replica did before."""

    def __init__(self, server: KubernetesApi, *, silence_seconds: float = 90.0) -> None:
        super().__init__(LightkubeApi(NAMESPACE, config=config_of(server)), NAMESPACE, silence_seconds=silence_seconds)
        self._server = server

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        found = await super().summaries(source_id)
        while self._cache.seen < self._server.newest:
            await asyncio.sleep(0)
            found = await super().summaries(source_id)
        return found


@pytest.fixture
async def backend(api: KubernetesApi) -> AsyncIterator[KubernetesBackend]:
    opened = SettledBackend(api)
    yield opened
    await opened.aclose()


class TestKubernetesBackend(BackendConformance):
    """Two replicas are two clients of one API server."""

    @pytest.fixture(autouse=True)
    async def _store(self, api: KubernetesApi) -> AsyncIterator[None]:
        self._api = api
        self._opened: list[Backend] = []
        yield
        for opened in self._opened:
            await opened.aclose()

    async def open(self) -> Backend:
        opened = SettledBackend(self._api)
        self._opened.append(opened)
        return opened


WHEN = "2027-01-15T08:00:00.000Z"


def asked(api: KubernetesApi, method: str, end: str = "") -> list[Request]:
    return [each for each in api.requests if each.method == method and each.path.endswith(end)]


def lists(api: KubernetesApi) -> list[Request]:
    return [
        each
        for each in asked(api, "GET", "/modelmetadatas")
        if "watch" not in each.parameters and "limit" in each.parameters
    ]


async def watched(api: KubernetesApi, number: int = 1) -> None:
    await api.until(lambda: api.watching == number)


async def test_any_number_of_listings_costs_one_list(api: KubernetesApi, backend: KubernetesBackend) -> None:
    await backend.publish(record())
    answers = await asyncio.gather(*(backend.summaries(None) for _ in range(50)))
    assert all(len(answer) == 1 for answer in answers)
    await watched(api)
    other = SettledBackend(api)
    await other.update_state(key(), state(source_load=0.4))
    await other.publish(record(key("new")))
    loads = {each.key.worker_id: each.state.source_load for each in await backend.summaries(SOURCE)}
    assert loads == {"w": 0.4, "new": None}
    assert await other.remove(SOURCE, "w", NOW_MS)
    assert [each.key.worker_id for each in await backend.summaries(None)] == ["new"]
    assert len(lists(api)) == 1
    await other.aclose()


async def test_what_a_replica_did_is_listed_at_once_though_its_watch_is_behind(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    async def listed() -> dict[str, float | None]:
        found = await KubernetesBackend.summaries(backend, None)
        return {each.key.worker_id: each.state.source_load for each in found}

    await backend.publish(record(key("old")))
    assert await listed() == {"old": None}
    await watched(api)
    api.deaf = True
    await backend.publish(record())
    await backend.update_state(key(), state(source_load=0.5))
    assert await listed() == {"old": None, "w": 0.5}
    await backend.remove(SOURCE, "old", NOW_MS)
    assert await listed() == {"w": 0.5}
    assert len(lists(api)) == 1


async def test_a_long_list_comes_in_pages(api: KubernetesApi, backend: KubernetesBackend) -> None:
    for number in range(401):
        name = f"mx-source-{SOURCE}-w{number}"
        status = {"worker": {"workerRank": 0, "status": "Ready"}}
        api.put({"metadata": {"name": name}, "spec": {"modelName": "m"}, "status": status})
    assert len(await backend.summaries(None)) == 401
    assert len(lists(api)) == 3


async def test_one_who_gives_up_does_not_stop_the_others_list(api: KubernetesApi, backend: KubernetesBackend) -> None:
    await backend.publish(record())
    first, second = (asyncio.ensure_future(backend.summaries(None)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert len(await second) == 1
    assert len(lists(api)) == 1


async def test_a_heartbeat_is_one_small_patch_that_deletes_a_load_by_null(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record())
    await backend.summaries(None)
    await watched(api)
    api.requests.clear()
    assert await backend.update_state(key(), state(updated_at_ms=NOW_MS + 1)) is UpdateOutcome.APPLIED
    assert await backend.update_state(key(), state(updated_at_ms=NOW_MS + 2)) is UpdateOutcome.APPLIED
    heartbeat = api.requests[-1]
    assert [each.method for each in api.requests] == ["PATCH", "PATCH"]
    assert heartbeat.path.endswith(f"/modelmetadatas/mx-source-{SOURCE}-w/status")
    assert heartbeat.headers["content-type"] == "application/merge-patch+json"
    assert heartbeat.body["status"] == {
        "worker": {
            "status": "Ready",
            "updatedAt": "2027-01-15T08:00:00.002Z",
            "sourceLoad": None,
            "exactSourceLoad": None,
        }
    }
    assert heartbeat.body["metadata"].keys() == {"resourceVersion"}


async def test_a_heartbeat_on_what_was_known_before_another_replicas_is_decided_anew(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record())
    await backend.summaries(None)
    await watched(api)
    api.deaf = True
    other = SettledBackend(api)
    newest = state(updated_at_ms=NOW_MS + 5, source_load=0.5)
    assert await other.update_state(key(), newest) is UpdateOutcome.APPLIED
    api.requests.clear()
    assert await backend.update_state(key(), state(updated_at_ms=NOW_MS + 4)) is UpdateOutcome.OLDER
    assert [each.method for each in api.requests] == ["PATCH", "GET"]
    found = await backend.get(SOURCE, "w")
    assert found is not None
    assert found.summary.state == newest
    await other.aclose()


async def test_a_worker_that_this_replica_has_not_heard_of_yet_is_found(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.summaries(None)
    await watched(api)
    api.deaf = True
    other = SettledBackend(api)
    await other.publish(record())
    assert await backend.update_state(key(), state()) is UpdateOutcome.APPLIED
    await other.aclose()


async def test_of_two_reapers_one_marks_and_one_removes(api: KubernetesApi, backend: KubernetesBackend) -> None:
    other = SettledBackend(api)
    replicas = [backend, other]
    await backend.publish(record(latest=state()))
    for each in replicas:
        await each.summaries(None)
    marked = await asyncio.gather(*(each.mark_stale(SOURCE, "w", NOW_MS) for each in replicas))
    assert sorted(marked) == [False, True]
    removed = await asyncio.gather(*(each.remove(SOURCE, "w", NOW_MS) for each in replicas))
    assert sorted(removed) == [False, True]
    await other.aclose()


async def test_a_heartbeat_that_comes_before_a_removal_saves_the_worker(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record(latest=state()))
    await backend.summaries(None)
    await watched(api)
    api.deaf = True
    other = SettledBackend(api)
    await other.update_state(key(), state(updated_at_ms=NOW_MS + 1))
    assert not await backend.remove(SOURCE, "w", NOW_MS)
    assert len(asked(api, "DELETE")) == 1, "it was tried, on what was known, and refused"
    assert not await backend.mark_stale(SOURCE, "w", NOW_MS)
    await other.aclose()


async def test_a_removed_workers_tensors_go_with_it(api: KubernetesApi, backend: KubernetesBackend) -> None:
    for where in (key(), key(rank=1), key("other")):
        await backend.publish(record(where))
    api.collect_garbage()
    assert len(api.config_maps()) == 3
    await backend.remove(SOURCE, "w", NOW_MS)
    api.collect_garbage()
    assert list(api.config_maps()) == [f"mx-source-{SOURCE}-other-tensors-worker-0"]


async def test_a_worker_goes_with_its_pod_if_that_is_in_this_namespace(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(replace(record(key("mine")), pod=PodReference(name="p", uid="gone", namespace=NAMESPACE)))
    await backend.publish(replace(record(key("far")), pod=PodReference(name="p", uid="gone", namespace="elsewhere")))
    api.collect_garbage()
    assert [each.key.worker_id for each in await backend.summaries(None)] == ["far"]


async def test_a_service_tells_its_store_the_pod(api: KubernetesApi, backend: KubernetesBackend) -> None:
    service = RegistryService(backend, now_ms=lambda: NOW_MS)
    request = PublishMetadataRequest(
        identity=SourceIdentity(model_name="m"), worker=WorkerMetadata(), worker_id="w", pod_name="p", pod_uid="u"
    )
    for namespace, owners in (("", None), (NAMESPACE, [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}])):
        request.pod_namespace = namespace
        assert (await service.publish_metadata(request)).success
        (found,) = api.resource.objects.values()
        assert found["metadata"].get("ownerReferences") == owners


async def test_a_publication_that_is_overtaken_by_a_removal_begins_anew(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record(latest=state()))
    other = SettledBackend(api)

    def remove_first(request: Request) -> None:
        if request.method == "PATCH":
            api.refuse = lambda _: None
            removal.append(asyncio.ensure_future(other.remove(SOURCE, "w", NOW_MS)))

    removal: list[asyncio.Future[bool]] = []
    api.refuse = remove_first
    again = record(latest=state(updated_at_ms=NOW_MS + 1), agent="second")
    await backend.publish(again)
    await asyncio.wait(removal)
    found = await backend.get(SOURCE, "w")
    assert found is not None
    assert WorkerMetadata.FromString(found.metadata).agent_name == "second"
    api.collect_garbage()
    assert len(api.config_maps()) == 1
    await other.aclose()


def older(*names: str) -> dict[str, Any]:
    """The definition as before these fields were added."""
    crd = custom_resource_definition()
    crd = json.loads(json.dumps(crd))
    worker = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["worker"]
    for name in names:
        del worker["properties"][name]
    return cast("dict[str, Any]", crd)


async def test_a_definition_that_drops_the_load_is_noticed_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with kubernetes_api(older("sourceLoad", "exactSourceLoad")) as api:
        backend = SettledBackend(api)
        await backend.publish(record())
        await backend.update_state(key(), state())
        assert caplog.text == "", "an unset load isn't dropped"
        for load in (0.0, 0.5, 0.7):
            await backend.update_state(key(), state(source_load=load))
        (summary,) = await backend.summaries(None)
        assert summary.state.source_load is None
        (told,) = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
        assert "drops status.worker.sourceLoad, so" in told
        assert "p2p-registry manifest crd | kubectl apply -f -" in told
        await backend.update_state(key(), state(source_load=math.nan))
        assert "drops status.worker.exactSourceLoad, so" in caplog.text
        await backend.aclose()


async def test_a_definition_that_keeps_everything_is_not_talked_about(
    backend: KubernetesBackend, caplog: pytest.LogCaptureFixture
) -> None:
    await backend.publish(record())
    await backend.publish(record(key(rank=1)))
    for load in (None, 0.0, 0.5, math.nan):
        await backend.update_state(key(), state(source_load=load))
        await backend.update_state(key(rank=1), state(source_load=load))
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_a_watch_that_ends_goes_on_after_the_last_bookmark(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.summaries(None)
    await watched(api)
    other = SettledBackend(api)
    await other.publish(record())
    await backend.summaries(None)
    for _ in range(3):
        api.put({"metadata": {"name": "unrelated"}, "spec": {"modelName": "m"}})
    api.bookmark()
    api.end_watches()
    await watched(api)
    api.compact()
    await other.update_state(key(), state(source_load=0.5))
    (summary,) = await backend.summaries(None)
    assert summary.state.source_load == 0.5
    assert len(lists(api)) == 1
    watches = [each.parameters for each in api.requests if each.parameters.get("watch") == "true"]
    assert all(each["allowWatchBookmarks"] == "true" for each in watches)
    assert int(watches[-1]["resourceVersion"]) >= api.newest - 1
    await other.aclose()


async def test_after_a_watch_has_expired_everything_is_listed_again(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    for where in (key(), key("gone")):
        await backend.publish(record(where))
    await backend.summaries(None)
    await watched(api)
    other = SettledBackend(api)
    api.deaf = True
    await other.remove(SOURCE, "gone", NOW_MS)
    await other.publish(record(key("new")))
    api.compact()
    api.deaf = False
    api.end_watches()
    assert {each.key.worker_id for each in await backend.summaries(None)} == {"w", "new"}
    assert len(lists(api)) == 2
    await other.aclose()


async def test_a_watch_that_says_nothing_is_begun_anew(api: KubernetesApi, caplog: pytest.LogCaptureFixture) -> None:
    backend = KubernetesBackend(LightkubeApi(NAMESPACE, config=config_of(api)), NAMESPACE, silence_seconds=0.05)
    await backend.publish(record())
    await backend.summaries(None)
    await watched(api)
    api.deaf = True
    api.put(
        {
            "metadata": {"name": f"mx-source-{SOURCE}-new"},
            "spec": {"modelName": "m"},
            "status": {"worker": {"workerRank": 0}},
        }
    )
    while len(await backend.summaries(None)) != 2:  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.01)
    assert "it said nothing for 0.05 s" in caplog.text
    await backend.aclose()


async def test_an_api_server_that_restarts_is_told_and_then_serves_what_it_kept(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record())
    assert len(await backend.summaries(None)) == 1
    await watched(api)
    await api.stop()
    with pytest.raises(BackendError, match=f"workers of namespace {NAMESPACE}: mx-source-{SOURCE}-w can't be read: "):
        await backend.get(SOURCE, "w")
    with pytest.raises(BackendError, match="can't be patched"):
        await backend.update_state(key(), state())
    with pytest.raises(BackendError, match="can't be listed"):
        await backend.ping()
    following = backend._follower._following
    assert following is not None
    await asyncio.wait({following})
    with pytest.raises(BackendError, match="can't be listed"):
        await backend.summaries(None)
    await api.start()
    assert await backend.update_state(key(), state(source_load=0.1)) is UpdateOutcome.APPLIED
    (summary,) = await backend.summaries(None)
    assert summary.state.source_load == 0.1
    await backend.ping()


@pytest.mark.parametrize("fault", ["number", "tensors"])
async def test_a_record_that_is_refused_leaves_no_object_that_nobody_would_remove(
    api: KubernetesApi, backend: KubernetesBackend, fault: str
) -> None:
    published = record()
    worker = WorkerMetadata.FromString(published.metadata)
    if fault == "number":
        worker.artifact_source.total_size = 2**63
    else:
        worker.tensor_source.tensors.extend(TensorDescriptor(name="t" * 1000) for _ in range(1100))
    refused = replace(published, metadata=worker.SerializeToString())
    with pytest.raises(BackendError):
        await backend.publish(refused)
    api.collect_garbage()
    assert (api.resource.objects, api.config_maps()) == ({}, {})
    # One that is there already stays.
    await backend.publish(published)
    with pytest.raises(BackendError):
        await backend.publish(refused)
    assert await backend.get(SOURCE, "w") is not None


STATUS = b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no such luck", "code": %d, "metadata": {}}'


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (401, "the account's token isn't accepted"),
        (403, "the Role that `p2p-registry manifest rbac` prints"),
        (404, "the resource that `p2p-registry manifest crd` prints"),
        (413, "larger than an object may be"),
        (429, "the API server has more requests than it takes"),
        (500, ""),
        (503, ""),
    ],
)
async def test_a_refusal_is_told_with_what_to_do(
    api: KubernetesApi, backend: KubernetesBackend, code: int, hint: str
) -> None:
    api.refuse = lambda _: (code, "application/json", STATUS % code)
    expected = re.escape(f"the API server answered {code}: no such luck") + (f"; .*{re.escape(hint)}" if hint else "$")
    asking: list[Coroutine[Any, Any, object]] = [backend.publish(record()), backend.summaries(None), backend.ping()]
    if code != 404:
        asking += [
            backend.update_state(key(), state()),
            backend.get(SOURCE, "w"),
            backend.mark_stale(SOURCE, "w", NOW_MS),
            backend.remove(SOURCE, "w", NOW_MS),
        ]
    for ask in asking:
        with pytest.raises(BackendError, match=expected):
            await ask


@pytest.mark.parametrize(
    ("code", "content_type", "content"),
    [
        (502, "text/html", b"<html>"),
        (502, None, b""),
        (503, "application/json; charset=utf-8", STATUS % 503),
        (500, "application/json", b"not json"),
        (200, "application/json", b"not json"),
        (200, None, b""),
    ],
)
async def test_an_answer_that_is_no_api_servers_is_a_failure_of_the_store(
    api: KubernetesApi, backend: KubernetesBackend, code: int, content_type: str | None, content: bytes
) -> None:
    await backend.publish(record())
    api.refuse = lambda _: (code, content_type, content)
    with pytest.raises(BackendError, match="can't be listed: "):
        await backend.summaries(None)
    with pytest.raises(BackendError, match="can't be read: "):
        await backend.get(SOURCE, "w")
    with pytest.raises(BackendError):
        await backend.publish(record(key("new")))
    with pytest.raises(BackendError):
        await backend.update_state(key(), state())
    if code != 200:  # of a deletion only the code is looked at
        api.refuse = lambda request: (code, content_type, content) if request.method == "DELETE" else None
        with pytest.raises(BackendError, match="can't be deleted: the API server answered 50"):
            await backend.remove(SOURCE, "w", NOW_MS)


async def test_without_the_right_to_watch_each_question_costs_a_list_and_that_is_told_once(
    api: KubernetesApi, backend: KubernetesBackend, caplog: pytest.LogCaptureFixture
) -> None:
    api.refuse = lambda each: (403, "application/json", STATUS % 403) if "watch" in each.parameters else None
    for number in range(1, 4):
        await KubernetesBackend.summaries(backend, None)
        await api.until(lambda number=number: len(asked(api, "GET")) == 2 * number)  # type: ignore[misc] # bound here
        following = backend._follower._following
        assert following is not None
        await asyncio.wait({following})
    assert len(lists(api)) == 3
    (told,) = [each.getMessage() for each in caplog.records if each.name.startswith("p2p_registry")]
    assert "the next question costs a list: " in told
    assert "the Role that `p2p-registry manifest rbac` prints" in told


async def test_a_worker_that_everybody_changes_is_given_up_after_a_while(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.publish(record())
    api.refuse = lambda each: (409, "application/json", STATUS % 409) if each.path.endswith("/status") else None
    with pytest.raises(BackendError, match=f"object mx-source-{SOURCE}-w changed 32 times"):
        await backend.update_state(key(), state())
    with pytest.raises(BackendError, match="changed 32 times"):
        await backend.publish(record())


async def test_tensors_that_fill_more_than_a_config_map_are_refused(backend: KubernetesBackend) -> None:
    tensors = [TensorDescriptor(name=f"model.layers.{n}.weight", dtype="bfloat16") for n in range(20_000)]
    large = replace(record(), metadata=WorkerMetadata(tensors=tensors).SerializeToString())
    with pytest.raises(BackendError, match=r"ConfigMap .* can't be written: the API server answered 422: .*Too long"):
        await backend.publish(large)
    assert await backend.get(SOURCE, "w") is None, "half a publication is none"
    assert list(await backend.summaries(None)) == []
    assert await backend.update_state(key(), state()) is UpdateOutcome.NOT_REGISTERED
    assert not await backend.remove(SOURCE, "w", NOW_MS)
    await backend.publish(record())
    assert len(await backend.summaries(None)) == 1


async def test_tensors_that_somebody_deleted_are_missed(api: KubernetesApi, backend: KubernetesBackend) -> None:
    await backend.publish(record())
    api.config_maps().clear()
    with pytest.raises(BackendError, match=f"names the ConfigMap mx-source-{SOURCE}-w-tensors-worker-0"):
        await backend.get(SOURCE, "w")


async def test_an_object_that_makes_no_sense_hides_no_other_and_is_replaced(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    name = f"mx-source-{SOURCE}-w"
    await backend.publish(record())
    await backend.publish(record(key("other")))
    for status in (
        {"worker": {"workerRank": 0, "updatedAt": WHEN, "exactSourceLoad": {"text": "much", "updatedAt": WHEN}}},
        {"worker": {"workerRank": 0}, "earlierRanks": {"one": {}}},
    ):
        kept = api.resource.objects[name]
        api.put({"metadata": kept["metadata"], "spec": kept["spec"], "status": status})
        assert [each.key.worker_id for each in await backend.summaries(None)] == ["other"]
        assert await backend.get(SOURCE, "w") is None
        assert await backend.update_state(key(), state()) is UpdateOutcome.NOT_REGISTERED
        await backend.publish(record())
        assert len(await backend.summaries(None)) == 2


async def test_an_id_that_is_no_source_is_nothing_that_the_api_server_is_asked_about(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    strange = key(source_id="../../../v1/secrets")
    assert await backend.get(strange.source_id, "w") is None
    assert await backend.update_state(strange, state()) is UpdateOutcome.NOT_REGISTERED
    assert not await backend.mark_stale(strange.source_id, "w", NOW_MS)
    assert not await backend.remove(strange.source_id, "w", NOW_MS)
    assert await backend.get(SOURCE, "../w?x=y#z") is None
    assert [each.path.rpartition("-")[2] for each in api.requests] == [hashlib.sha256(b"../w?x=y#z").hexdigest()]


async def test_the_role_that_is_printed_allows_all_that_is_asked_and_little_more(
    api: KubernetesApi, backend: KubernetesBackend
) -> None:
    await backend.ping()
    for _ in range(2):
        await backend.publish(record())
    await backend.summaries(None)
    await watched(api)
    await backend.get(SOURCE, "w")
    await backend.update_state(key(rank=7), state())
    await backend.mark_stale(SOURCE, "w", NOW_MS)
    await backend.remove(SOURCE, "w", NOW_MS)
    verbs = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
    needed: dict[str, set[str]] = {}
    for each in api.requests:
        _, _, tail = each.path.partition(f"/namespaces/{NAMESPACE}/")
        plural, _, rest = tail.partition("/")
        verb = verbs.get(each.method) or ("get" if rest else "watch" if "watch" in each.parameters else "list")
        needed.setdefault(plural + ("/status" if rest.endswith("/status") else ""), set()).add(verb)
    granted = {rule["resources"][0]: set(rule["verbs"]) for rule in ROLE_RULES}
    assert needed.keys() == granted.keys()
    for resource, wanted in needed.items():
        assert wanted <= granted[resource]
    # What modelexpress' own server asks besides.
    spare = {resource: granted[resource] - wanted for resource, wanted in needed.items()}
    assert spare == {
        "modelmetadatas": {"update"},
        "modelmetadatas/status": {"get", "update"},
        "configmaps": {"list", "update", "delete"},
    }


async def test_replicas_reap_together_what_fell_silent(api: KubernetesApi, backend: KubernetesBackend) -> None:
    other = SettledBackend(api)
    clock = [NOW_MS]
    services = [RegistryService(each, now_ms=lambda: clock[0]) for each in (backend, other)]
    for number in range(8):
        worker = WorkerMetadata(status=2)  # type: ignore[arg-type] # READY
        request = PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker=worker, worker_id=f"w{number}")
        assert (await services[number % 2].publish_metadata(request)).success
    for clock[0], marked, removed in ((NOW_MS + 90_001, 8, 0), (NOW_MS + 3_600_001, 0, 8)):
        reaped = await asyncio.gather(*(service.reap() for service in services))
        assert sum(each.marked_stale for each in reaped) == marked
        assert sum(each.removed for each in reaped) == removed
    assert list(await backend.summaries(None)) == []
    await other.aclose()


async def test_closing_ends_the_watch_and_may_be_done_twice(api: KubernetesApi) -> None:
    backend = SettledBackend(api)
    await backend.summaries(None)
    await watched(api)
    await backend.aclose()
    await backend.aclose()
    await SettledBackend(api).aclose()


async def test_a_url_opens_it_in_the_cluster_of_the_kubeconfig(
    api: KubernetesApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps(api.kubeconfig()))
    monkeypatch.setenv("KUBECONFIG", str(file))
    backend = await open_backend(f"kubernetes://{NAMESPACE}")
    await backend.publish(record())
    assert list(api.resource.objects) == [f"mx-source-{SOURCE}-w"]
    await backend.aclose()


@pytest.mark.parametrize("place", ["", "A", "a/b", "a?b", "-a", "a-", "a.b", "a@b", "x" * 64])
async def test_a_url_names_a_namespace_and_nothing_else(place: str) -> None:
    with pytest.raises(InvalidBackendUrlError, match="is given as kubernetes://NAMESPACE"):
        await open_backend(f"kubernetes://{place}")


async def test_no_cluster_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    with pytest.raises(BackendError, match=r"no Kubernetes cluster: .*set KUBECONFIG"):
        await open_backend("kubernetes://n")


async def test_without_the_client_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "p2p_registry.kubernetes._lightkube", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'p2p-registry\[kubernetes\]'"):
        await open_backend("kubernetes://n")


async def test_an_api_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2p_registry.kubernetes._lightkube._TIMEOUT_SECONDS", 0.05)
    over = asyncio.Event()

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    silent = KubernetesApi(custom_resource_definition())
    silent.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = LightkubeApi(NAMESPACE, config=config_of(silent))
    for ask, what in ((client.get("w"), "read"), (client.delete("w", "u", 1), "deleted"), (client.list(), "listed")):
        with pytest.raises(BackendError, match=f"can't be {what}: ReadTimeout"):
            await ask
    await client.aclose()
    over.set()
    server.close()
    await server.wait_closed()

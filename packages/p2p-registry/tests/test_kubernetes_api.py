"""The API server that other tests use behaves as Kubernetes' documentation says an API server does."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from kubernetes_api import CONFIG_MAPS, KubernetesApi, Object, kubernetes_api, merge

MERGE = {"content-type": "application/merge-patch+json"}
CRD: Object = {
    "spec": {
        "group": "example.org",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0},
                                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "parts": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "load": {"type": "number", "nullable": True},
                                    "phase": {"type": "string"},
                                    "since": {"type": "string", "format": "date-time"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    }
}
PATH = "/apis/example.org/v1/namespaces/inference/things"


class Client:
    """Asks, and gives code and document."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Object]:
        headers = MERGE if method == "PATCH" else {}
        answer = await self.http.request(method, path, json=body, headers=more.pop("headers", headers), **more)
        return answer.status_code, answer.json()

    async def make(self, name: str = "t", **spec: Any) -> Object:
        code, made = await self("POST", PATH, thing(name, **spec))
        assert code == 201, made
        return made


def thing(name: str = "t", **spec: Any) -> Object:
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"size": 1, **spec}}


@pytest.fixture
async def api() -> AsyncIterator[KubernetesApi]:
    async with kubernetes_api(CRD) as serving:
        yield serving


@pytest.fixture
async def ask(api: KubernetesApi) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(base_url=api.url) as http:
        yield Client(http)


async def test_a_created_object_gets_an_id_a_version_and_a_generation_and_is_made_once(ask: Client) -> None:
    made = await ask.make()
    assert made["metadata"]["uid"]
    assert made["metadata"]["generation"] == 1
    assert int(made["metadata"]["resourceVersion"]) > 0
    assert await ask("GET", f"{PATH}/t") == (200, made)
    code, refusal = await ask("POST", PATH, thing())
    assert (code, refusal["kind"], refusal["reason"], refusal["code"]) == (409, "Status", "AlreadyExists", 409)
    again = await ask.make("other")
    assert again["metadata"]["uid"] != made["metadata"]["uid"]


async def test_what_is_not_there_is_not_found(ask: Client) -> None:
    for method, path in (
        ("GET", f"{PATH}/t"),
        ("PATCH", f"{PATH}/t"),
        ("DELETE", f"{PATH}/t"),
        ("GET", "/apis/example.org/v2/things"),
        ("GET", f"{CONFIG_MAPS}/c/status"),
    ):
        code, refusal = await ask(method, path, {} if method == "PATCH" else None)
        assert (code, refusal["reason"]) == (404, "NotFound")


async def test_fields_that_the_schema_does_not_name_are_dropped(ask: Client) -> None:
    made = await ask.make(weight=3, labels={"any": "key"}, parts=[{"name": "p", "weight": 3}])
    assert made["spec"] == {"size": 1, "colour": "red", "labels": {"any": "key"}, "parts": [{"name": "p"}]}
    assert "extra" not in (await ask("POST", PATH, thing("e") | {"extra": 1}))[1]


async def test_defaults_are_filled_in_and_a_null_that_may_not_be_counts_as_absent(ask: Client) -> None:
    assert (await ask.make())["spec"]["colour"] == "red"
    assert (await ask.make("n", colour=None))["spec"]["colour"] == "red"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"size": "1"}, ".spec.size: Invalid value: '1': must be of type integer"),
        ({"size": True}, "must be of type integer"),
        ({"size": 1.5}, "must be of type integer"),
        ({"size": -1}, "should be greater than or equal to 0"),
        ({"size": None}, 'Invalid value: "null"'),
        ({"colour": "green"}, "Unsupported value: 'green'"),
        ({"labels": {"k": 1}}, ".spec.labels.k"),
        ({"parts": [{"name": 1}]}, ".spec.parts[0].name"),
    ],
)
async def test_what_the_schema_forbids_is_refused(ask: Client, spec: Object, complaint: str) -> None:
    code, refusal = await ask("POST", PATH, thing(**spec))
    assert (code, refusal["reason"]) == (422, "Invalid")
    assert complaint in refusal["message"]


async def test_a_required_field_is_required(ask: Client) -> None:
    code, refusal = await ask("POST", PATH, thing() | {"spec": {}})
    assert (code, refusal["message"]) == (422, 'Thing "t" is invalid: .spec.size: Required value')


@pytest.mark.parametrize("name", ["T", "a_b", "-a", "a..b", "a:b", "ж", "x" * 254])
async def test_a_name_is_a_dns_subdomain(ask: Client, name: str) -> None:
    assert (await ask("POST", PATH, thing(name)))[0] == 422


async def test_a_label_has_at_most_63_letters_of_few_kinds(ask: Client) -> None:
    for value, code in (("x" * 63, 201), ("x" * 64, 422), ("a b", 422), ("", 201)):
        new = thing(f"l{len(value)}")
        new["metadata"]["labels"] = {"l": value}
        assert (await ask("POST", PATH, new))[0] == code


async def test_the_status_is_apart_from_the_rest(ask: Client) -> None:
    made = (await ask("POST", PATH, thing() | {"status": {"phase": "born"}}))[1]
    assert "status" not in made

    patch = {"metadata": {"labels": {"l": "v"}}, "spec": {"size": 7}, "status": {"phase": "up"}}
    code, patched = await ask("PATCH", f"{PATH}/t/status", patch)
    assert code == 200
    assert (patched["status"], patched["spec"]["size"]) == ({"phase": "up"}, 1)
    assert "labels" not in patched["metadata"]
    assert patched["metadata"]["generation"] == 1

    patched = (await ask("PATCH", f"{PATH}/t", {"spec": {"size": 7}, "status": {"phase": "down"}}))[1]
    assert (patched["status"], patched["spec"]["size"]) == ({"phase": "up"}, 7)
    assert patched["metadata"]["generation"] == 2


async def test_a_merge_patch_changes_what_it_names_and_null_deletes(ask: Client) -> None:
    await ask.make(labels={"a": "1", "b": "2"})
    await ask("PATCH", f"{PATH}/t/status", {"status": {"load": 0.5, "phase": "up"}})
    patched = (await ask("PATCH", f"{PATH}/t/status", {"status": {"load": None}}))[1]
    assert patched["status"] == {"phase": "up"}
    patched = (await ask("PATCH", f"{PATH}/t", {"spec": {"labels": {"a": None, "c": "3"}}}))[1]
    assert patched["spec"]["labels"] == {"b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_the_examples_of_its_rfc_say(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


async def test_a_custom_resource_takes_merge_patches_only_here(ask: Client) -> None:
    await ask.make()
    headers = {"content-type": "application/strategic-merge-patch+json"}
    assert (await ask("PATCH", f"{PATH}/t", {}, headers=headers))[0] == 415


@pytest.mark.parametrize("path", [f"{PATH}/t", f"{PATH}/t/status"])
async def test_a_patch_of_another_version_conflicts(ask: Client, path: str) -> None:
    version = (await ask.make())["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "spec": {"size": 2}, "status": {"phase": "up"}}
    code, patched = await ask("PATCH", path, patch)
    assert code == 200
    assert int(patched["metadata"]["resourceVersion"]) > int(version)
    code, refusal = await ask("PATCH", path, patch)
    assert (code, refusal["reason"]) == (409, "Conflict")
    assert await ask("GET", f"{PATH}/t") == (200, patched)


async def test_a_patch_that_changes_nothing_keeps_the_version(ask: Client) -> None:
    made = await ask.make()
    assert await ask("PATCH", f"{PATH}/t", {"spec": {"size": 1}}) == (200, made)


async def test_an_update_of_the_status_is_checked_too(ask: Client) -> None:
    await ask.make()
    for status, code in (
        ({"load": "0.5"}, 422),
        ({"since": "yesterday"}, 422),
        ({"since": "2026-01-02T03:04:05.6Z"}, 200),
    ):
        assert (await ask("PATCH", f"{PATH}/t/status", {"status": status}))[0] == code


async def test_whole_numbers_lose_their_point_and_zero_its_sign(ask: Client) -> None:
    await ask.make()
    for sent, kept in (("42.0", "42"), ("-0.0", "0"), ("0.25", "0.25"), ("1e-45", "1e-45"), ("3.4e+38", "3.4e+38")):
        patch = f'{{"status": {{"load": {sent}}}}}'
        answer = await ask.http.patch(f"{PATH}/t/status", content=patch, headers=MERGE)
        assert f'"load": {kept}' in answer.text


async def test_a_deletion_has_preconditions(ask: Client) -> None:
    metadata = (await ask.make())["metadata"]
    for wrong in ({"uid": "another"}, {"uid": metadata["uid"], "resourceVersion": "1"}):
        code, refusal = await ask("DELETE", f"{PATH}/t", {"preconditions": wrong})
        assert (code, refusal["reason"]) == (409, "Conflict")
    right = {key: metadata[key] for key in ("uid", "resourceVersion")}
    assert (await ask("DELETE", f"{PATH}/t", {"preconditions": right}))[0] == 200
    assert (await ask("GET", f"{PATH}/t"))[0] == 404


async def test_what_lost_its_owner_is_collected(ask: Client, api: KubernetesApi) -> None:
    uid = (await ask.make())["metadata"]["uid"]
    for name, owners in (("owned", [{"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": uid}]), ("free", [])):
        new = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": owners},
            "data": {},
        }
        assert (await ask("POST", CONFIG_MAPS, new))[0] == 201
    api.collect_garbage()
    assert set(api.config_maps()) == {"owned", "free"}
    await ask("DELETE", f"{PATH}/t")
    api.collect_garbage()
    assert set(api.config_maps()) == {"free"}


async def test_an_owner_is_named_in_full(ask: Client) -> None:
    new = thing()
    new["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]
    assert (await ask("POST", PATH, new))[0] == 422


async def test_a_config_map_an_object_and_a_request_have_their_limits(ask: Client) -> None:
    for size, code in ((2**20, 201), (2**20 + 1, 422), (3 * 2**20, 413)):
        new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{size}"}, "data": {"k": "x" * size}}
        assert (await ask("POST", CONFIG_MAPS, new))[0] == code
    code, refusal = await ask("POST", PATH, thing(labels={"k": "x" * (3 * 2**19)}))
    assert (code, refusal["message"]) == (500, "etcdserver: request is too large")


async def test_a_list_is_selected_and_comes_in_pages_of_one_version(ask: Client, api: KubernetesApi) -> None:
    for name in ("a", "b", "c"):
        new = thing(name)
        new["metadata"]["labels"] = {"l": "v"}
        await ask("POST", PATH, new)
    await ask.make("other")
    first = (await ask("GET", PATH, params={"labelSelector": "l=v", "limit": "2"}))[1]
    more = first["metadata"]["continue"]
    await ask.make("later")
    rest = (await ask("GET", PATH, params={"labelSelector": "l=v", "limit": "2", "continue": more}))[1]
    assert [item["metadata"]["name"] for item in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert first["metadata"]["resourceVersion"] == rest["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]
    api.compact()
    code, refusal = await ask("GET", PATH, params={"limit": "2", "continue": more})
    assert (code, refusal["reason"]) == (410, "Expired")


async def watched(lines: AsyncIterator[str]) -> tuple[str, Object]:
    event = json.loads(await anext(lines))
    return event["type"], event["object"]


@pytest.mark.parametrize("bookmarks", ["true", "false"])
async def test_a_watch_tells_what_happened_since_and_happens_and_marks_where_asked(
    ask: Client, api: KubernetesApi, bookmarks: str
) -> None:
    made = await ask.make()
    await ask("PATCH", f"{PATH}/t", {"spec": {"size": 2}})
    version = made["metadata"]["resourceVersion"]
    parameters = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": bookmarks}
    async with ask.http.stream("GET", PATH, params=parameters) as answer:
        lines = answer.aiter_lines()
        kind, found = await watched(lines)
        assert (kind, found["spec"]["size"]) == ("MODIFIED", 2)
        api.bookmark()
        await ask("DELETE", f"{PATH}/t")
        kind, found = await watched(lines)
        if bookmarks == "true":
            assert (kind, found["metadata"]["resourceVersion"]) == ("BOOKMARK", str(int(version) + 1))
            kind, found = await watched(lines)
        assert kind == "DELETED"
        assert int(found["metadata"]["resourceVersion"]) == int(version) + 2
        await ask.make()
        assert (await watched(lines))[0] == "ADDED"
        api.end_watches()
        assert [line async for line in lines] == []


async def test_a_watch_from_a_version_that_is_forgotten_expires(ask: Client, api: KubernetesApi) -> None:
    version = (await ask.make())["metadata"]["resourceVersion"]
    await ask.make("other")
    api.compact()
    answer = await ask.http.get(PATH, params={"watch": "true", "resourceVersion": version})
    assert answer.status_code == 200
    event = json.loads(answer.text)
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_what_is_kept_outlives_the_server_and_connections_do_not(ask: Client, api: KubernetesApi) -> None:
    made = await ask.make()
    await api.stop()
    with pytest.raises(httpx2.TransportError):
        await ask("GET", f"{PATH}/t")
    await api.start()
    assert await ask("GET", f"{PATH}/t") == (200, made)

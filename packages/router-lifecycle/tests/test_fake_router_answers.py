"""What the fake router answers, field by field and release by release, as the releases were seen to answer."""

import json
import re
from typing import Any

import pytest
from fake_router_talk import ALL, DEAD, SMG, UNKNOWN_UUID, URL_IDS, UUID_IDS, A, B, Talk

from router_lifecycle.testing import FakeEngine, Health

CORE = ["id", "url", "model_id", "priority", "cost", "worker_type", "is_healthy", "load", "connection_mode"]
SMG_ROW = [
    "id",
    "model_id",
    "url",
    "models",
    "worker_type",
    "connection_mode",
    "runtime_type",
    "labels",
    "priority",
    "cost",
]
SMG_TAIL = ["max_connection_attempts", "is_healthy", "status", "load", "http2"]
ROW_FIELDS = {
    "0.2.0": [*CORE, "tokenizer_path", "metadata"],
    "0.2.2": [*CORE, "metadata"],
    "0.2.4": [*CORE, "metadata"],
    "0.3.0": [*CORE, "metadata"],
    "0.3.2": [*CORE, "metadata", "disable_health_check"],
    SMG: [*SMG_ROW, *SMG_TAIL],
}


@pytest.mark.parametrize("version", ALL)
async def test_an_accepted_registration_is_answered_as_the_release_does(version: str) -> None:
    answer = await Talk(version).post()
    assert answer.status_code == 202
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    if version in URL_IDS:
        assert list(body.items()) == [
            ("status", "accepted"),
            ("worker_id", A),
            ("message", "Worker addition queued for background processing"),
        ]
        assert "location" not in answer.headers
    else:
        assert list(body) == ["status", "worker_id", "url", "location", "message"]
        assert body["location"] == answer.headers["location"] == f"/workers/{body['worker_id']}"
        digit = "7" if version == SMG else "4"
        assert re.fullmatch(
            rf"[0-9a-f]{{8}}-[0-9a-f]{{4}}-{digit}[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}", body["worker_id"]
        )


@pytest.mark.parametrize("version", ALL)
async def test_an_active_worker_looks_as_in_the_release(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    talk.clock.advance(1)
    shown = (await talk.one("GET", worker_id)).json()
    assert list(shown) == ROW_FIELDS[version]
    assert (await talk.rows())[A] == shown
    model = {"0.2.0": "Qwen3-0.6B", "0.2.2": "/models/Qwen3-0.6B"}.get(version, "qwen3-0.6b")
    mode = {"0.2.0": "Http", "0.2.2": "Http", SMG: "http"}.get(version, "HTTP")
    assert (shown["model_id"], shown["connection_mode"], shown["is_healthy"]) == (model, mode, True)
    assert shown.get("status") == ("ready" if version == SMG else None)


@pytest.mark.parametrize("version", ALL)
async def test_the_list_counts_its_workers_by_type(version: str) -> None:
    talk = Talk(version)
    assert (await talk.http.get("/workers")).json() == {
        "workers": [],
        "total": 0,
        "stats": {"prefill_count": 0, "decode_count": 0, "regular_count": 0},
    }
    await talk.accepted(worker_type="prefill", bootstrap_port=8998)
    await talk.accepted(B, worker_type="decode")
    talk.clock.advance(1)
    listed = (await talk.http.get("/workers")).json()
    assert (listed["total"], listed["stats"]) == (2, {"prefill_count": 1, "decode_count": 1, "regular_count": 0})
    prefill, decode = (row for row in sorted(listed["workers"], key=lambda row: str(row["url"])))
    assert (prefill["bootstrap_port"], "bootstrap_port" in decode) == (8998, False)


@pytest.mark.parametrize("version", ALL)
async def test_a_pending_worker_is_shown_by_placeholders_that_are_not_what_was_posted(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted(priority=7)
    shown = (await talk.one("GET", worker_id)).json()
    job = shown.pop("job_status")
    assert list(job) == ["job_type", "worker_url", "status", "message", "timestamp"]
    assert (job["job_type"], job["worker_url"], job["status"], job["message"]) == ("AddWorker", A, "processing", None)
    assert isinstance(job["timestamp"], int)
    if version == SMG:
        assert list(shown) == [
            "id",
            "url",
            "worker_type",
            "connection_mode",
            "runtime_type",
            "priority",
            "cost",
            *SMG_TAIL,
        ]
        assert (shown["status"], shown["priority"]) == ("pending", 50)
    else:
        assert list(shown) == [*CORE, *(["disable_health_check"] if version == "0.3.2" else [])]
        assert (shown["model_id"], shown["worker_type"], shown["connection_mode"]) == ("unknown",) * 3
        assert (shown["priority"], shown["is_healthy"]) == (0, False)
    assert await talk.rows() == {}


@pytest.mark.parametrize("version", [v for v in ALL if v != SMG])
async def test_labels_priority_and_cost_come_back_as_texts_among_the_metadata(version: str) -> None:
    talk = Talk(version)
    await talk.accepted(labels={"zone": "a"}, priority=7, cost=2.0)
    talk.clock.advance(1)
    metadata = (await talk.rows())[A]["metadata"]
    assert (metadata["zone"], metadata["priority"], metadata["cost"]) == ("a", "7", "2")


async def test_smg_keeps_labels_and_ignores_a_posted_model() -> None:
    talk = Talk(SMG)
    await talk.accepted(labels={"zone": "a"}, model_id="mine")
    talk.clock.advance(1)
    row = (await talk.rows())[A]
    assert (row["labels"]["zone"], row["model_id"], row["models"][0]["id"]) == ("a", "qwen3-0.6b", "qwen3-0.6b")
    assert (await talk.http.get("/workers", params={"model": "other"})).json()["workers"] == []


@pytest.mark.parametrize("version", ALL)
async def test_the_key_of_a_worker_is_in_no_answer_and_counts_only_for_what_it_says_of_itself(version: str) -> None:
    talk = Talk(version, FakeEngine(A, api_key="s3cret"), FakeEngine(B, api_key="s3cret"))
    await talk.accepted(A)
    await talk.accepted(B, api_key="s3cret")
    talk.clock.advance(5)
    rows = await talk.rows()
    assert rows[A]["model_id"] == "unknown"
    assert rows[B]["model_id"] != "unknown"
    assert all(row["is_healthy"] for row in rows.values())
    assert "s3cret" not in json.dumps(rows)


@pytest.mark.parametrize("version", ALL)
async def test_the_probes_that_tell_releases_apart_are_answered(version: str) -> None:
    talk = Talk(version)
    no_uuid = await talk.one("GET", "not-a-uuid")
    if version in URL_IDS:
        assert (no_uuid.status_code, no_uuid.json()["code"]) == (404, "WORKER_NOT_FOUND")
    else:
        assert (no_uuid.status_code, no_uuid.json()["code"]) == (400, "BAD_REQUEST")
        assert no_uuid.json()["error"].startswith("Invalid worker_id 'not-a-uuid' (expected UUID). Error: ")
    changing = {**dict.fromkeys(URL_IDS, ""), **dict.fromkeys(UUID_IDS, "PUT,"), SMG: "PUT,PATCH,"}[version]
    wrong = await talk.one("POST", UNKNOWN_UUID, json={})
    assert (wrong.status_code, wrong.headers["allow"]) == (405, f"GET,HEAD,{changing}DELETE")
    unknown = await talk.http.get("/nope")
    assert unknown.status_code == 404
    if version == SMG:
        assert unknown.json()["error"]["code"] == "unknown_url"
        assert wrong.json()["error"]["code"] == "method_not_allowed"
        assert (await talk.http.get("/get_loads")).json()["version"] == SMG
    else:
        assert unknown.content == wrong.content == b""
    assert (await talk.http.get("/list_workers")).status_code == (200 if version == "0.2.0" else 404)
    assert (await talk.http.get("/v1/tokenizers")).status_code == (404 if version in URL_IDS else 200)
    assert (await talk.http.get("/ha/status")).status_code == (503 if version == "0.3.2" else 404)


@pytest.mark.parametrize("version", ALL)
async def test_an_unknown_worker_is_a_404_that_names_it(version: str) -> None:
    answer = await Talk(version).one("GET", UNKNOWN_UUID)
    assert answer.status_code == 404
    assert answer.json() == {"error": f"Worker {UNKNOWN_UUID} not found", "code": "WORKER_NOT_FOUND"}


async def test_an_id_that_is_a_url_must_be_encoded_and_compares_as_text() -> None:
    talk = Talk("0.2.4")
    await talk.accepted()
    talk.clock.advance(1)
    raw = await talk.http.get(f"/workers/{A}")
    assert (raw.status_code, raw.content) == (404, b"")
    assert (await talk.http.get("/workers/http:%2f%2F10.0.0.1:30000")).status_code == 200
    slash = await talk.one("GET", f"{A}/")
    assert slash.json()["error"] == f"Worker {A}/ not found"


@pytest.mark.parametrize("version", UUID_IDS)
async def test_an_id_in_capitals_is_a_uuid_that_nobody_has(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    assert (await talk.one("GET", worker_id.upper())).status_code == 404


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{}", "missing field `url` at line 1 column 2"),
        ('{"url": null}', "url: invalid type: null, expected a string at line 1 column 12"),
        ('{"url": 5}', "url: invalid type: integer `5`, expected a string at line 1 column 9"),
        (
            '{"url": "http://h:1", "priority": -1}',
            "priority: invalid value: integer `-1`, expected u32 at line 1 column 36",
        ),
        (
            '{"url": "http://h:1", "priority": "x"}',
            'priority: invalid type: string "x", expected u32 at line 1 column 37',
        ),
        ('{"url": "http://h:1", "cost": "1"}', 'cost: invalid type: string "1", expected f32 at line 1 column 33'),
        (
            '{"url": "http://h:1", "labels": {"a": 1}}',
            "labels.a: invalid type: integer `1`, expected a string at line 1 column 39",
        ),
        (
            '{"url": "http://h:1", "bootstrap_port": 70000}',
            "bootstrap_port: invalid value: integer `70000`, expected u16 at line 1 column 45",
        ),
        ("null", "invalid type: null, expected struct"),
    ],
)
async def test_a_body_of_another_shape_is_refused(version: str, body: str, why: str) -> None:
    talk = Talk(version)
    answer = await talk.http.post("/workers", content=body, headers={"content-type": "application/json"})
    if version == SMG:
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
        assert (
            f"Invalid JSON data: Failed to deserialize the JSON body into the target type: {why}"
            in answer.json()["error"]
        )
    else:
        assert (answer.status_code, answer.headers["content-type"]) == (422, "text/plain; charset=utf-8")
        assert answer.text.startswith(f"Failed to deserialize the JSON body into the target type: {why}")
    assert talk.router.workers == []


@pytest.mark.parametrize("version", ALL)
async def test_what_is_no_json_is_refused_as_another_thing(version: str) -> None:
    talk = Talk(version)
    broken = await talk.http.post("/workers", content="{nope", headers={"content-type": "application/json"})
    untyped = await talk.http.post("/workers", content=b'{"url": "http://h:1"}')
    assert broken.status_code == 400
    assert "key must be a string at line 1 column 2" in broken.text
    cut = await talk.http.post("/workers", content="{", headers={"content-type": "application/json"})
    assert "EOF while parsing an object at line 1 column 1" in cut.text
    assert untyped.status_code == (400 if version == SMG else 415)


@pytest.mark.parametrize("version", [v for v in ALL if v != SMG])
async def test_a_misspelt_type_becomes_regular_and_any_url_is_accepted(version: str) -> None:
    talk = Talk(version, startup_timeout_seconds=5)
    await talk.accepted(worker_type="PREFILL")
    for url in ("", "not a url", "ftp://10.0.0.1:1", " http://10.0.0.1:30000"):
        assert (await talk.post(url)).status_code == 202
    talk.clock.advance(60)
    assert (await talk.rows())[A]["worker_type"] == "regular"
    assert [worker.url for worker in talk.router.workers if worker.routable] == [A]


@pytest.mark.parametrize(
    "fields",
    [{"url": ""}, {"url": "10.0.0.1:30000"}, {"url": "ftp://h:1"}, {"worker_type": "banana"}, {"cost": -1.0}],
    ids=str,
)
async def test_smg_refuses_what_the_others_swallow(fields: dict[str, Any]) -> None:
    answer = await Talk(SMG).http.post("/workers", json={"url": A, **fields})
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("version", ALL)
async def test_a_key_is_asked_for_as_the_release_does(version: str) -> None:
    talk = Talk(version, api_key="k")
    missing = await talk.http.get("/workers")
    wrong = await talk.http.get("/workers", headers={"authorization": "Bearer other"})
    assert (missing.status_code, wrong.status_code) == (401, 401)
    if version == SMG:
        assert missing.headers["www-authenticate"] == 'Bearer realm="data-plane"'
        assert missing.json()["error"]["message"].startswith("Missing API key")
        assert wrong.headers["www-authenticate"] == 'Bearer realm="data-plane", error="invalid_token"'
        assert wrong.json()["error"]["message"] == "Invalid API key"
    else:
        assert missing.content == wrong.content == b""
    for header in ({"x-api-key": "k"}, {"authorization": "k"}):
        assert (await talk.http.get("/workers", headers=header)).status_code == 401
    lower = await talk.http.get("/workers", headers={"authorization": "bearer k"})
    assert lower.status_code == (200 if version == SMG else 401)
    assert (await talk.http.get("/workers", headers={"authorization": "Bearer k"})).status_code == 200
    assert (await talk.http.get("/health")).text == "OK"
    assert (await talk.http.get("/readiness")).status_code == 503


async def test_a_router_without_a_key_takes_any() -> None:
    talk = Talk("0.3.2")
    assert (await talk.http.get("/workers", headers={"authorization": "Bearer what"})).status_code == 200


@pytest.mark.parametrize("version", UUID_IDS)
async def test_put_merges_and_ignores_another_url(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted(labels={"a": "1"}, worker_type="decode")
    talk.clock.advance(1)
    answer = await talk.one(
        "PUT", worker_id, json={"url": B, "priority": 9, "labels": {"b": "2"}, "worker_type": "prefill"}
    )
    assert answer.json() == {
        "status": "accepted",
        "worker_id": worker_id,
        "message": "Worker update queued for background processing",
    }
    talk.clock.advance(0.05)
    assert await talk.job(worker_id) == ("UpdateWorker", "processing")
    talk.clock.advance(0.1)
    row = (await talk.rows())[A]
    assert (row["priority"], row["worker_type"]) == (9, "decode")
    assert (row["metadata"]["a"], row["metadata"]["b"]) == ("1", "2")
    assert await talk.job(worker_id) is None


async def test_smg_replaces_by_put_and_merges_by_patch() -> None:
    talk = Talk(SMG)
    worker_id = await talk.accepted(priority=5, labels={"a": "1"}, worker_type="decode")
    talk.clock.advance(1)
    assert (await talk.one("PATCH", worker_id, json={"labels": {"b": "2"}})).status_code == 202
    talk.clock.advance(0.2)
    row = (await talk.rows())[A]
    assert (row["priority"], row["labels"]["a"], row["labels"]["b"]) == (5, "1", "2")
    assert (await talk.one("PUT", worker_id, json={"priority": 9})).status_code == 400
    other = await talk.one("PUT", worker_id, json={"url": B, "priority": 9})
    assert other.json()["error"].startswith(f"URL mismatch: worker has URL '{A}' but request body has '{B}'")
    assert (await talk.one("PUT", worker_id, json={"url": A, "labels": {"c": "3"}})).status_code == 202
    talk.clock.advance(0.2)
    row = (await talk.rows())[A]
    assert (row["priority"], row["worker_type"], row["labels"]["c"]) == (50, "regular", "3")
    assert not {"a", "b"} & row["labels"].keys()


@pytest.mark.parametrize("version", URL_IDS)
async def test_the_0_2_series_updates_nothing(version: str) -> None:
    talk = Talk(version)
    worker_id = await talk.accepted()
    talk.clock.advance(1)
    assert (await talk.one("PUT", worker_id, json={"priority": 1})).status_code == 405


async def test_the_legacy_routes_of_0_2_0_answer_when_the_work_is_done() -> None:
    talk = Talk("0.2.0")
    added = await talk.http.post("/add_worker", params={"url": A})
    assert (added.status_code, added.text) == (200, f"Worker {A} added successfully")
    assert [worker.url for worker in talk.router.workers if worker.routable] == [A]
    assert (await talk.http.get("/list_workers")).json() == {"urls": [A]}
    assert (await talk.http.post("/add_worker", params={"url": A})).status_code == 400
    assert (await talk.http.post("/add_worker", params={"url": DEAD})).status_code == 400
    removed = await talk.http.post("/remove_worker", params={"url": A})
    assert (removed.status_code, removed.text) == (200, f"Worker {A} removed successfully")
    assert talk.router.workers == []


@pytest.mark.parametrize("version", [v for v in ALL if v != "0.2.0"])
async def test_later_releases_have_no_legacy_routes(version: str) -> None:
    talk = Talk(version)
    assert (await talk.http.post("/add_worker", params={"url": A})).status_code == 404


@pytest.mark.parametrize("version", ALL)
async def test_readiness_counts_the_healthy(version: str) -> None:
    talk = Talk(version, FakeEngine(A), FakeEngine(B, health=Health.DOWN))
    assert (await talk.http.get("/readiness")).json() == {
        "status": "not ready",
        "reason": "insufficient healthy workers",
    }
    await talk.accepted()
    talk.clock.advance(1)
    assert (await talk.http.get("/readiness")).json() == {"status": "ready", "healthy_workers": 1, "total_workers": 1}


async def test_head_and_options_carry_no_body() -> None:
    talk = Talk("0.3.2")
    head = await talk.http.head("/workers")
    options = await talk.http.request("OPTIONS", "/workers")
    assert (head.status_code, head.content) == (200, b"")
    assert (options.status_code, options.headers["allow"]) == (200, "POST,GET,HEAD")
    assert (await talk.http.get("/workers/")).status_code == 404

"""The description of a worker: what it refuses before any request, what it sends, and that its key stays out of sight."""

import json
import pickle
import traceback
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from router_lifecycle import InvalidWorkerURLError, WorkerSpec

URL = "http://10.0.0.1:30000"


def refusal(**values: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        WorkerSpec(**values)
    return caught.value


def test_the_least_that_is_needed_is_a_url() -> None:
    assert WorkerSpec(url=URL).request_body() == {"url": URL, "worker_type": "regular"}


def test_everything_that_is_set_is_sent_under_the_names_of_the_routers() -> None:
    spec = WorkerSpec(
        url="HTTP://10.0.0.1:30000/",
        worker_type="prefill",
        bootstrap_port=8998,
        model_id="qwen3-0.6b",
        api_key=SecretStr("s3cret"),
        labels={"zone": "a"},
        priority=7,
        cost=2.5,
    )
    assert json.loads(json.dumps(spec.request_body())) == {
        "url": "http://10.0.0.1:30000",
        "worker_type": "prefill",
        "bootstrap_port": 8998,
        "model_id": "qwen3-0.6b",
        "api_key": "s3cret",
        "labels": {"zone": "a"},
        "priority": 7,
        "cost": 2.5,
    }


def test_zero_is_sent_and_not_taken_for_unset() -> None:
    body = WorkerSpec(url=URL, priority=0, cost=0).request_body()
    assert (body["priority"], body["cost"]) == (0, 0)


def test_the_url_is_kept_in_its_canonical_spelling() -> None:
    assert WorkerSpec(url="HTTP://[2001:DB8:0::19D]:30000/").url == "http://[2001:db8::19d]:30000"
    assert WorkerSpec(url="http://H:1/") == WorkerSpec(url="http://h:1")


def test_a_refused_url_is_reported_with_the_packages_own_error() -> None:
    error = refusal(url="10.0.0.1:30000").errors()[0]
    assert error["loc"] == ("url",)
    assert isinstance(error["ctx"]["error"], InvalidWorkerURLError)


@pytest.mark.parametrize("worker_type", ["PREFILL", "banana", "encoder", "", None, 1])
def test_a_worker_type_that_is_none_is_refused_because_routers_make_it_regular(worker_type: object) -> None:
    assert "'regular', 'prefill' or 'decode'" in str(refusal(url=URL, worker_type=worker_type))


@pytest.mark.parametrize(("worker_type", "bootstrap_port"), [("prefill", None), ("regular", 8998), ("decode", 8998)])
def test_a_bootstrap_port_goes_with_prefill_and_nothing_else(worker_type: str, bootstrap_port: int | None) -> None:
    message = str(refusal(url=URL, worker_type=worker_type, bootstrap_port=bootstrap_port))
    assert f"worker_type={worker_type!r} with bootstrap_port={bootstrap_port!r} is not allowed for {URL}" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bootstrap_port", 0),
        ("bootstrap_port", 65_536),
        ("bootstrap_port", True),
        ("bootstrap_port", "8998"),
        ("bootstrap_port", 8998.0),
        ("model_id", ""),
        ("model_id", 7),
        ("labels", {"zone": 1}),
        ("labels", None),
        ("labels", [("zone", "a")]),
        ("priority", -1),
        ("priority", 2**32),
        ("priority", "50"),
        ("cost", -1),
        ("cost", float("nan")),
        ("cost", float("inf")),
        ("cost", True),
    ],
)
def test_a_value_out_of_range_or_of_another_type_is_refused(field: str, value: object) -> None:
    error = refusal(url=URL, **({"worker_type": "prefill", "bootstrap_port": 8998} | {field: value}))
    assert error.error_count() == 1
    assert error.errors()[0]["loc"][0] == field


def test_a_misspelt_field_is_refused() -> None:
    assert refusal(url=URL, boostrap_port=8998).errors()[0]["type"] == "extra_forbidden"


@pytest.mark.parametrize("api_key", [None, "", SecretStr("")])
def test_no_key_and_an_empty_key_are_both_no_key(api_key: Any) -> None:
    spec = WorkerSpec(url=URL, api_key=api_key)
    assert spec.api_key is None
    assert "api_key" not in spec.request_body()


@pytest.mark.parametrize("api_key", ["s3cret\n", " s3cret", "s3\x00cret", "s3crét", " "])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(api_key: str) -> None:
    message = str(refusal(url=URL, api_key=SecretStr(api_key)))
    assert "api_key holds white space or a character outside printable ASCII" in message
    assert api_key.strip() == "" or api_key not in message


def test_the_key_is_in_no_repr_and_no_dump_and_only_in_the_request() -> None:
    spec = WorkerSpec(url=URL, api_key=SecretStr("s3cret"))
    for text in (repr(spec), str(spec), repr(spec.model_dump()), spec.model_dump_json()):
        assert "s3cret" not in text
    assert spec.request_body()["api_key"] == "s3cret"


def test_a_spec_loaded_from_a_dump_has_no_key_rather_than_a_row_of_stars() -> None:
    spec = WorkerSpec(url=URL, api_key=SecretStr("s3cret"), labels={"zone": "a"})
    assert WorkerSpec.model_validate_json(spec.model_dump_json()) == WorkerSpec(url=URL, labels={"zone": "a"})


@pytest.mark.parametrize(
    "values",
    [
        {"api_key": "s3cret"},
        {"url": URL, "api_key": "s3cret", "bootstrap_port": 8998},
        {"url": URL, "api_key": "s3cret\n"},
        {"url": URL, "api_key": {"key": "s3cret"}},
        {"url": URL, "apikey": "s3cret"},
        {"url": "http://user:s3cret@10.0.0.1:30000"},
        {"url": b"http://user:s3cret@10.0.0.1:30000"},
    ],
)
def test_no_refusal_shows_a_key(values: dict[str, Any]) -> None:
    error = refusal(**values)
    assert "s3cret" not in str(error) + repr(error) + "".join(traceback.format_exception_only(error))


def test_a_spec_is_immutable_hashable_and_owns_its_labels() -> None:
    labels = {"zone": "a"}
    spec = WorkerSpec(url=URL, labels=labels)
    labels["zone"] = "b"
    assert spec.labels == {"zone": "a"}
    with pytest.raises(ValidationError, match="frozen"):
        spec.url = "http://10.0.0.2:30000"  # type: ignore[misc]
    assert {spec: 1}[WorkerSpec(url=URL, labels={"zone": "a"})] == 1
    assert spec != WorkerSpec(url=URL)


def test_a_pickle_carries_the_whole_spec_to_another_process() -> None:
    spec = WorkerSpec(url=URL, api_key=SecretStr("s3cret"), labels=MappingProxyType({"zone": "a"}))
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301
    assert pickle.loads(pickle.dumps(spec)).request_body() == spec.request_body()  # noqa: S301

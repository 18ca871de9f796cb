"""The guard refuses what doesn't prove published weights, and says everything that is known."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_lifecycle.publication import (
    FilePublishedVersions,
    GuardPolicy,
    GuardRule,
    MemoryPublishedVersions,
    PublishedVersions,
    StaleWeightError,
    WeightVersionGuard,
    WeightVersionSpan,
    check_response,
    check_session_record,
)

ALL: frozenset[GuardRule] = frozenset({"unpublished", "missing", "below_minimum", "changing", "unreadable"})


def guard(
    published: int | None = 9,
    *,
    behind: int | None = 2,
    rules: frozenset[GuardRule] = ALL,
    exempt: dict[str, str] | None = None,
    exempt_all: str | None = None,
) -> WeightVersionGuard:
    versions = MemoryPublishedVersions()
    if published is not None:
        versions.publish("actor", published)
    policy = GuardPolicy(
        default_model="actor",
        rules=rules,
        max_versions_behind=behind,
        exempt_models=exempt or {},
        exempt_all=exempt_all,
    )
    return WeightVersionGuard(versions, policy)


@pytest.mark.parametrize("model", ["actor", "default", None])
def test_the_sentinel_from_a_published_model_is_refused_with_every_fact(model: str | None) -> None:
    with pytest.raises(StaleWeightError) as caught:
        guard().check(model=model, version="default", source="http://10.0.0.1:30000")
    error = caught.value
    assert (error.model, error.rule, error.versions) == ("actor", "unpublished", ("default",))
    assert (error.published, error.minimum, error.source) == ("9", 7, "http://10.0.0.1:30000")
    for fact in ("'actor'", "http://10.0.0.1:30000", "'default'", "published 9", "minimum 7", "don't train on it"):
        assert fact in str(error)
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)  # noqa: S301 - of this test's making


@pytest.mark.parametrize(
    ("version", "rule"),
    [
        (None, "missing"),
        ("", "missing"),
        ("default", "unpublished"),
        ("6", "below_minimum"),
        (6, "below_minimum"),
        ("v9", "unreadable"),
        ("-9", "unreadable"),
        ("\u0669", "unreadable"),
    ],
)
def test_each_rule_refuses_and_is_not_looked_at_when_left_out(version: str | int | None, rule: GuardRule) -> None:
    with pytest.raises(StaleWeightError) as caught:
        guard().check(model="actor", version=version)
    assert caught.value.rule == rule
    guard(rules=ALL - {rule}).check(model="actor", version=version)


@pytest.mark.parametrize("version", ["7", "9", "10", 9, "0009"])
def test_published_weights_pass_and_so_do_those_of_a_transfer_that_is_not_published_yet(version: str | int) -> None:
    guard().check(model="actor", version=version)


def test_without_a_minimum_any_version_but_the_sentinel_passes() -> None:
    for version in ("1", "step-12"):
        guard(behind=None).check(model="actor", version=version)


def test_spans_are_checked_one_by_one_and_may_not_differ() -> None:
    same = [WeightVersionSpan("9", 10), WeightVersionSpan(9, 4)]
    guard().check(model="actor", spans=same)
    with pytest.raises(StaleWeightError, match="changed inside one response") as caught:
        guard().check(model="actor", spans=[WeightVersionSpan("8", 10), WeightVersionSpan("9", 4)])
    assert (caught.value.rule, caught.value.versions) == ("changing", ("8", "9"))
    guard(rules=ALL - {"changing"}).check(model="actor", spans=[WeightVersionSpan("8", 1), WeightVersionSpan("9", 1)])
    with pytest.raises(StaleWeightError) as caught:
        guard(rules=ALL - {"changing"}).check(
            model="actor", spans=[WeightVersionSpan("9", 1), WeightVersionSpan("default", 1)]
        )
    assert caught.value.rule == "unpublished"
    with pytest.raises(StaleWeightError) as caught:
        guard().check(model="actor", spans=[])
    assert caught.value.rule == "missing"


def test_version_and_spans_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        guard().check(model="actor", version="9", spans=[WeightVersionSpan("9", 1)])


def test_an_unpublished_model_may_answer_with_its_checkpoint() -> None:
    guard(None).check(model="actor", version="default")
    guard().check(model="critic", version="default")


def test_exemptions_pass_and_nothing_else_does() -> None:
    exempt = guard(exempt={"reference": "frozen", "lora-1": "LoRA adapter"})
    for model in ("reference", "lora-1"):
        exempt.check(model=model, version="default")
    with pytest.raises(StaleWeightError):
        exempt.check(model="actor", version="default")
    named = guard(exempt={"actor": "LoRA adapter"})
    named.check(model="actor", version="default")
    guard(exempt_all="debug: rollout only").check(model="actor", version="default")


@pytest.mark.parametrize("model", [7, b"actor", ["actor"], True])
def test_a_model_that_is_no_string_is_a_type_error_even_when_all_is_exempt(model: object) -> None:
    for subject in (guard(), guard(exempt_all="debug"), guard(None)):
        with pytest.raises(TypeError, match="must be a string"):
            subject.check(model=model, version="9")


def test_a_version_that_is_no_version_is_a_type_error() -> None:
    for version in (True, 1.5, ["9"]):
        with pytest.raises(TypeError, match="weight version"):
            guard().check(model="actor", version=version)  # type: ignore[arg-type]


def test_a_policy_that_can_not_be_meant_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        GuardPolicy(default_model="actor", max_versions_behind=-1)
    with pytest.raises(ValueError, match="'stale'"):
        GuardPolicy(default_model="actor", rules=frozenset({"stale"}))  # type: ignore[arg-type]


@given(published=st.integers(0, 50), behind=st.integers(0, 50), version=st.integers(0, 100))
def test_a_version_passes_exactly_when_it_is_not_too_far_behind(published: int, behind: int, version: int) -> None:
    subject = guard(published, behind=behind)
    if version >= published - behind:
        subject.check(model="actor", version=str(version))
    else:
        with pytest.raises(StaleWeightError):
            subject.check(model="actor", version=str(version))


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x", "meta_info": {"weight_version": "9"}},
        {"choices": [{}], "metadata": {"weight_version": "9"}},
        {"choices": [{"meta_info": {"weight_version": "9"}}, {"meta_info": {"weight_version": "8"}}]},
    ],
)
def test_a_response_with_published_weights_passes(body: dict[str, object]) -> None:
    check_response(guard(), body, model="actor")
    check_session_record(guard(), {"request": {"model": "actor"}, "response": body})


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"meta_info": {"weight_version": "default"}}, "unpublished"),
        ({"metadata": {"weight_version": "1"}}, "below_minimum"),
        (
            {"choices": [{"meta_info": {"weight_version": "9"}}, {"meta_info": {"weight_version": "default"}}]},
            "unpublished",
        ),
        ({"choices": [{"meta_info": {"weight_version": "9"}}, {}]}, "missing"),
        ({"choices": [{"meta_info": None}], "metadata": None}, "missing"),
        ({"choices": None, "meta_info": {}}, "missing"),
        ({}, "missing"),
    ],
)
def test_a_response_without_proof_is_refused_on_both_paths(body: dict[str, object], rule: str) -> None:
    with pytest.raises(StaleWeightError) as caught:
        check_response(guard(), body, model=None, source="e3")
    assert (caught.value.rule, caught.value.source) == (rule, "e3")
    for request in ({"model": "actor"}, {"model": "default"}, {}):
        with pytest.raises(StaleWeightError) as caught:
            check_session_record(guard(), {"request": request, "response": body}, source="session 5")
        assert caught.value.rule == rule


def test_a_session_of_the_reference_model_may_answer_with_its_checkpoint() -> None:
    response = {"choices": [{"meta_info": {"weight_version": "default"}}]}
    check_session_record(guard(exempt={"ref": "frozen"}), {"request": {"model": "ref"}, "response": response})


def test_a_session_record_of_another_shape_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="must be a string"):
        check_session_record(guard(), {"request": {"model": 3}, "response": {}})
    with pytest.raises(TypeError, match="objects request and response"):
        check_session_record(guard(), {"request": {"model": "actor"}, "response": None})


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> PublishedVersions:
    if request.param == "memory":
        return MemoryPublishedVersions()
    return FilePublishedVersions.create(tmp_path / "versions.json")


def test_a_store_tells_the_last_version_of_each_model_and_never_goes_back(store: PublishedVersions) -> None:
    assert store.current("actor") is None
    store.publish("actor", 0)
    store.publish("actor", 3)
    store.publish("actor", 3)
    store.publish("critic", 1)
    assert (store.current("actor"), store.current("critic")) == (3, 1)
    with pytest.raises(ValueError, match="the last one was 3"):
        store.publish("actor", 2)
    with pytest.raises(ValueError, match="-1"):
        store.publish("reference", -1)
    assert store.current("actor") == 3


def test_another_process_reads_the_file_and_the_next_writer_goes_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "versions.json"
    reader = FilePublishedVersions(path)
    FilePublishedVersions.create(path).publish("actor", 3)
    assert reader.current("actor") == 3
    FilePublishedVersions.create(path).publish("actor", 4)
    assert reader.current("actor") == 4
    assert [file.name for file in tmp_path.iterdir()] == ["versions.json"]


def test_a_file_that_cannot_be_read_is_never_taken_for_unpublished(tmp_path: Path) -> None:
    path = tmp_path / "versions.json"
    with pytest.raises(FileNotFoundError):
        FilePublishedVersions(path).current("actor")
    for text in ("", '{"actor": ', "[]", '{"actor": "3"}', '{"actor": true}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="holds no published versions"):
            FilePublishedVersions(path).current("actor")

"""Policies by name."""

import importlib.metadata

import pytest

from p2p_selection import (
    Candidate,
    LoadAware,
    RandomOrder,
    SelectionConfig,
    SourceSelector,
    Target,
    get_selector,
    register_selector,
    registry,
    selector_names,
)

BUILT_IN = ("bounded_load", "load_aware", "random", "rendezvous_hash", "spread", "topology_aware")


class Backwards:
    name = "backwards"

    def order(self, candidates: list[Candidate], target: Target) -> list[Candidate]:
        del target
        return candidates[::-1]

    def top(self, candidates: list[Candidate], target: Target, k: int) -> list[Candidate]:
        return self.order(candidates, target)[:k]


def backwards(config: SelectionConfig) -> SourceSelector:
    del config
    return Backwards()  # type: ignore[return-value] # takes lists, which is all that is tried here


@pytest.fixture(autouse=True)
def as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_warned", set())


def test_every_policy_has_its_name() -> None:
    assert selector_names() == BUILT_IN
    assert [get_selector(name).name for name in BUILT_IN] == list(BUILT_IN)
    assert all(isinstance(get_selector(name), SourceSelector) for name in BUILT_IN)


def test_the_default_is_random() -> None:
    assert get_selector().name == "random"


def test_settings_reach_the_policy() -> None:
    selector = get_selector(config=SelectionConfig(policy="load_aware", load_weight=2.5, unknown_load=0.25))
    assert isinstance(selector, LoadAware)
    assert (selector.weight, selector.unknown_load) == (2.5, 0.25)


def test_a_name_is_trimmed_and_case_does_not_count() -> None:
    assert get_selector(" Load_Aware ").name == "load_aware"


def test_an_unknown_name_gives_random_and_one_warning_that_names_variable_and_choices(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(3):
        assert isinstance(get_selector("load-aware"), RandomOrder)
    (record,) = caplog.records
    assert record.getMessage() == (
        "MX_P2P_SOURCE_SELECTOR: 'load-aware' is not a policy, so sources are ranked by random; the policies are "
        + ", ".join(BUILT_IN)
    )


def test_a_failing_factory_gives_random_and_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    def broken(config: SelectionConfig) -> SourceSelector:
        raise RuntimeError(f"no {config.policy} today")

    register_selector("broken", broken)
    for _ in range(2):
        assert get_selector(config=SelectionConfig(policy="broken")).name == "random"
    (message,) = (record.getMessage() for record in caplog.records)
    assert "'broken' can't be made: RuntimeError: no broken today" in message


def test_a_factory_that_returns_no_policy_gives_random_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    register_selector("broken", lambda _: None)  # type: ignore[arg-type, return-value] # as one without types may
    assert get_selector("broken").name == "random"
    assert "'broken' can't be made: its factory returned None, so sources are ranked by random" in caplog.text


def test_ones_own_policy_is_known_by_its_name() -> None:
    register_selector(" Backwards", backwards)
    assert isinstance(get_selector("backwards"), Backwards)
    assert "backwards" in selector_names()


def test_an_entry_point_adds_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("Theirs", "p2p_selection.registry:_topology_aware", registry.ENTRY_POINTS)

    def entry_points(*, group: str) -> list[importlib.metadata.EntryPoint]:
        return [point] if group == registry.ENTRY_POINTS else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert "theirs" in selector_names()
    assert get_selector("THEIRS").name == "topology_aware"

"""How the policies are plugged into modelexpress; the real one is met in the project's interop tests."""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from p2p_selection import Candidate, SettingError, Spread, Target, selector_names
from p2p_selection.compat.modelexpress import PluggedSelector, register

CONTEXT = SimpleNamespace(identity=SimpleNamespace(model_name="m"), worker_id="t", worker_rank=0)
Factories = dict[str, Callable[[], PluggedSelector]]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Factories:
    """What modelexpress knows of policies, in its shape."""
    factories: Factories = {}
    theirs = ModuleType("modelexpress.source_selection")
    theirs.register_selector = factories.__setitem__  # type: ignore[attr-defined] # a module made up
    monkeypatch.setitem(sys.modules, "modelexpress", ModuleType("modelexpress"))
    monkeypatch.setitem(sys.modules, "modelexpress.source_selection", theirs)
    return factories


def ref(worker_id: str, load: float = 0.0) -> Any:
    return SimpleNamespace(mx_source_id="s", worker_id=worker_id, worker_rank=0, source_load=load)


def test_every_policy_is_registered_or_those_that_are_named(known: Factories) -> None:
    assert register(["spread"]) == ("spread",)
    assert list(known) == ["spread"]
    assert register() == selector_names()
    assert {name: factory().name for name, factory in known.items()} == {name: name for name in selector_names()}
    with pytest.raises(SettingError, match="names='fastest' is not allowed: any of bounded_load, "):
        register(["fastest"])


def test_the_entries_come_back_in_the_order_of_the_policy(known: Factories) -> None:
    register()
    listed = [ref(f"w{number}", number / 8) for number in range(8)]
    ranked = known["spread"]().order(listed, CONTEXT)
    expected = Spread().order([Candidate("s", f"w{n}", 0, n / 8) for n in range(8)], Target("m", "t", 0))
    assert [entry.worker_id for entry in ranked] == [candidate.worker_id for candidate in expected]
    assert {id(entry) for entry in ranked} == {id(entry) for entry in listed}


def test_an_entry_that_cannot_be_read_comes_last(known: Factories, caplog: pytest.LogCaptureFixture) -> None:
    register()
    listed = [ref(""), ref("w"), ref("v")]
    ranked = known["rendezvous_hash"]().order(listed, CONTEXT)
    assert {entry.worker_id for entry in ranked[:2]} == {"v", "w"}
    assert ranked[2] is listed[0]
    assert "a source is ranked last: worker_id is empty or missing" in caplog.text


def test_a_policy_is_kept_until_the_environment_changes(known: Factories, monkeypatch: pytest.MonkeyPatch) -> None:
    register()
    first = known["load_aware"]()
    assert known["load_aware"]() is first
    monkeypatch.setenv("MX_P2P_LOAD_WEIGHT", "7")
    assert known["load_aware"]() is not first

"""Settings from the environment variables of modelexpress."""

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_selection import DEFAULT_LEVELS, SelectionConfig

NOWHERE = {"DYN_TOPOLOGY_MOUNT_PATH": "/nonexistent"}


def read(**variables: str) -> SelectionConfig:
    return SelectionConfig.from_env(NOWHERE | variables)


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read() == SelectionConfig()


@pytest.mark.parametrize(
    ("text", "policy"),
    [("load_aware", "load_aware"), (" LOAD_AWARE\n", "load_aware"), ("", "random"), ("Mine", "mine"), (" ", "random")],
)
def test_the_policy_is_trimmed_and_case_does_not_count(text: str, policy: str) -> None:
    assert read(MX_P2P_SOURCE_SELECTOR=text).policy == policy


@pytest.mark.parametrize(
    ("text", "weight"),
    [("0", 0.0), ("2.5", 2.5), (" 1.5 ", 1.5), ("1_000", 1000.0), ("+2", 2.0), ("-3.0", 0.0), ("-0", 0.0)],
)
def test_a_weight_is_a_number_and_a_negative_one_is_zero(
    text: str, weight: float, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(MX_P2P_LOAD_WEIGHT=text).load_weight == weight
    assert read(MX_P2P_TOPOLOGY_LOAD_WEIGHT=text).topology_load_weight == weight
    assert not caplog.records


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "abc", "", "1e400", "1,5"])
def test_a_weight_that_is_no_finite_number_warns_and_leaves_the_default(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert read(MX_P2P_LOAD_WEIGHT=text).load_weight == 1.0
    assert caplog.messages == [f"MX_P2P_LOAD_WEIGHT={text!r} is not a finite number: 1.0 is used"]


def test_the_load_weight_of_topology_needs_a_variable_that_is_set() -> None:
    assert read().topology_load_weight == 0.0
    assert read(MX_P2P_LOAD_WEIGHT="2").topology_load_weight == 2.0
    assert read(MX_P2P_LOAD_WEIGHT="2", MX_P2P_TOPOLOGY_LOAD_WEIGHT="0").topology_load_weight == 0.0
    assert read(MX_P2P_LOAD_WEIGHT="2", MX_P2P_TOPOLOGY_LOAD_WEIGHT="nan").topology_load_weight == 0.0


def test_levels_are_trimmed_and_empty_ones_dropped() -> None:
    assert read(MX_P2P_TOPOLOGY_LEVELS=" zone, ,rack,").topology_levels == ("zone", "rack")
    assert read(MX_P2P_TOPOLOGY_LEVELS=" , ").topology_levels == DEFAULT_LEVELS


def test_the_place_is_a_json_object_whose_nulls_are_dropped() -> None:
    assert read(MX_P2P_TOPOLOGY='{"zone": "a", "rack": 7, "host": null}').topology == {"zone": "a", "rack": "7"}


@pytest.mark.parametrize("text", ["zone=a", "[1]", '"a"', "{", "[" * 100_000])
def test_a_place_that_is_none_warns_and_is_unknown(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read(MX_P2P_TOPOLOGY=text).topology == {}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "MX_P2P_TOPOLOGY=" in caplog.text


def test_a_mounted_directory_tells_the_place_where_no_variable_does(tmp_path: Path) -> None:
    (tmp_path / "zone").write_text(" a\n")
    (tmp_path / "rack").write_text("")
    (tmp_path / ".data").write_text("x")
    (tmp_path / "..dir").mkdir()
    variables = {"DYN_TOPOLOGY_MOUNT_PATH": str(tmp_path)}
    assert SelectionConfig.from_env(variables).topology == {"zone": "a"}
    assert SelectionConfig.from_env(variables | {"MX_P2P_TOPOLOGY": "{}"}).topology == {}


@pytest.mark.parametrize(
    ("text", "on"), [("1", True), ("Yes", True), (" on ", True), ("true", True), ("0", False), ("2", False)]
)
def test_a_flag_is_one_of_four_words(text: str, on: bool) -> None:
    config = read(MX_METRICS_ENABLED=text, MX_METRICS_SOURCE_ID_LABEL=text)
    assert (config.metrics_enabled, config.metrics_source_id_label) == (on, on)


@pytest.mark.parametrize(("text", "warnings"), [("ture", 1), ("2", 1), ("False", 0), (" off ", 0), ("", 0)])
def test_a_mistyped_flag_warns_that_it_is_off(text: str, warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    assert not read(MX_METRICS_ENABLED=text).metrics_enabled
    warning = f"MX_METRICS_ENABLED={text!r} is none of 1, true, yes, on, 0, false, no, off: it is off"
    assert caplog.messages == [warning] * warnings


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "MX_P2P_SOURCE_SELECTOR",
                "MX_P2P_LOAD_WEIGHT",
                "MX_P2P_TOPOLOGY",
                "MX_P2P_TOPOLOGY_LEVELS",
                "MX_METRICS_ENABLED",
            ]
        ),
        st.text(),
    )
)
def test_no_environment_keeps_a_puller_from_starting(environ: dict[str, str]) -> None:
    config = SelectionConfig.from_env(NOWHERE | environ)
    assert config.load_weight >= 0

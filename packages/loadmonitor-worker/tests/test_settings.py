"""Settings from code, environment and flags."""

import argparse
import logging
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker import (
    ConfigError,
    LoadedSettings,
    MissingSettingError,
    ReporterConfig,
    SettingError,
    WorkerType,
    add_cli_args,
    load_settings,
)
from loadmonitor_worker.settings import Origin, environment_of, variable_of

CODE = {"port": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSource(ReporterConfig):
    source: str
    file: Path | None = None
    labels: tuple[str, ...] = ()
    loud: bool = False
    http_host: str = "127.0.0.1"
    http_port: int | None = None


def test_a_flag_overrides_the_environment_which_overrides_code() -> None:
    code = {"port": 1, "stale_after_ms": 1_000, "model": "code", "zone": "code"}
    environ = {"LOADMONITOR_STALE_AFTER_MS": "2000", "LOADMONITOR_MODEL": "environment"}
    loaded = load_settings(ReporterConfig, code=code, environ=environ, flags={"stale_after_ms": 3_000, "zone": None})
    assert loaded.config == ReporterConfig(port=1, stale_after_ms=3_000, model="environment", zone="code")
    assert loaded.origins["stale_after_ms"] == Origin("flag", "--stale-after-ms")
    assert loaded.origins["model"] == Origin("environment", "LOADMONITOR_MODEL")
    assert loaded.origins["zone"] == Origin("code", "zone")
    assert loaded.origins["overshoot"] == Origin("default", "overshoot")
    assert loaded.origins.keys() == {field.name for field in fields(ReporterConfig)}


def test_an_engines_own_flags_override_only_where_they_are_given() -> None:
    parser = argparse.ArgumentParser()
    add_cli_args(parser, default_host=None)

    def load(*arguments: str) -> LoadedSettings[ReporterConfig]:
        given = parser.parse_args(arguments)
        return load_settings(
            ReporterConfig,
            code={"port": None},
            environ={"LOADMONITOR_LISTEN": "0.0.0.0:7"},
            flags={"port": given.load_reporter_port, "host": given.load_reporter_host},
            flag_prefix="--load-reporter-",
        )

    loaded = load("--load-reporter-port", "8")
    assert (loaded.config.host, loaded.config.port) == ("0.0.0.0", 8)
    assert (str(loaded.origins["host"]), str(loaded.origins["port"])) == ("LOADMONITOR_LISTEN", "--load-reporter-port")
    assert load("--load-reporter-host", "::1").config == ReporterConfig(host="::1", port=7)
    with pytest.raises(ConfigError, match="--load-reporter-host"):
        load("--load-reporter-host", " ")


def test_every_type_is_read_from_text() -> None:
    environ = {
        "LOADMONITOR_LISTEN": "0.0.0.0:50061",
        "LOADMONITOR_WORKER_TYPE": "decode",
        "LOADMONITOR_ALIGNMENT": "epoch",
        "LOADMONITOR_PUBLISH_INTERVAL_MS": " 200 ",
        "LOADMONITOR_FILE": "/run/loads",
        "LOADMONITOR_SOURCE": "x",
        "LOADMONITOR_LABELS": "a=b, c=d,",
        "LOADMONITOR_LOUD": "on",
        "LOADMONITOR_HTTP_LISTEN": "[::]:9464",
    }
    config = load_settings(WithSource, environ=environ).config
    assert (config.host, config.port, config.worker_type) == ("0.0.0.0", 50_061, WorkerType.DECODE)
    assert (config.alignment, config.publish_interval_ms, config.file) == ("epoch", 200, Path("/run/loads"))
    assert (config.labels, config.loud, config.http_host, config.http_port) == (("a=b", "c=d"), True, "::", 9464)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("[::1]:7", "::1", 7), ("127.0.0.1:0", "127.0.0.1", 0), (":50061", "0.0.0.0", 50_061), ("lm:1", "lm", 1)],
)
def test_one_variable_gives_host_and_port(text: str, host: str, port: int) -> None:
    config = load_settings(ReporterConfig, environ={"LOADMONITOR_LISTEN": text}).config
    assert (config.host, config.port) == (host, port)


@pytest.mark.parametrize("text", ["50061", "::1:50061", "host:", "host:port", "a:1:2", "[::1]"])
def test_an_address_that_is_none_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"LOADMONITOR_LISTEN=.* is not HOST:PORT: write"):
        load_settings(ReporterConfig, environ={"LOADMONITOR_LISTEN": text})


@pytest.mark.parametrize(("text", "value"), [("1", True), ("yes", True), ("off", False), ("0", False)])
def test_a_truth_value_is_one_of_eight_words(text: str, value: object) -> None:
    environ = {"LOADMONITOR_LOUD": text, "LOADMONITOR_SOURCE": "x"}
    assert load_settings(WithSource, code=CODE, environ=environ).config.loud is value
    with pytest.raises(
        ConfigError, match=r"loud='True' \(LOADMONITOR_LOUD\) is not allowed: one of 1, true, yes, on, 0"
    ):
        load_settings(WithSource, code=CODE, environ=environ | {"LOADMONITOR_LOUD": "True"})


def test_a_flag_for_the_port_leaves_the_environments_host() -> None:
    loaded = load_settings(ReporterConfig, environ={"LOADMONITOR_LISTEN": "0.0.0.0:1"}, flags={"port": 2})
    assert (loaded.config.host, loaded.config.port) == ("0.0.0.0", 2)
    assert str(loaded.origins["host"]) == "LOADMONITOR_LISTEN"
    assert str(loaded.origins["port"]) == "--port"


def test_a_mistyped_variable_is_an_error_that_names_the_right_one() -> None:
    with pytest.raises(
        ConfigError, match="LOADMONITOR_STALE_AFTR_MS is no setting: did you mean LOADMONITOR_STALE_AFTER_MS"
    ):
        load_settings(ReporterConfig, code=CODE, environ={"LOADMONITOR_STALE_AFTR_MS": "50"})


def test_a_variable_like_no_setting_is_an_error_that_lists_them() -> None:
    with pytest.raises(ConfigError, match=r"LOADMONITOR_QQ is no setting: there are .*LOADMONITOR_OVERSHOOT"):
        load_settings(ReporterConfig, code=CODE, environ={"LOADMONITOR_QQ": ""})


def test_a_mistyped_name_in_code_is_an_error_that_names_the_right_one() -> None:
    with pytest.raises(ConfigError, match="stale_after is no setting of ReporterConfig: did you mean stale_after_ms"):
        load_settings(ReporterConfig, code={"port": 0, "stale_after": 50})


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("LOADMONITOR_PORT", "tcp://10.96.12.7:9005"),
        ("LOADMONITOR_PORT_9005_TCP", "tcp://10.96.12.7:9005"),
        ("LOADMONITOR_PORT_9005_TCP_ADDR", "10.96.12.7"),
        ("LOADMONITOR_PORT_9005_TCP_PORT", "9005"),
        ("LOADMONITOR_SERVICE_HOST", "10.96.12.7"),
        ("LOADMONITOR_SERVICE_PORT", "9005"),
        ("LOADMONITOR_SERVICE_PORT_LM_GRPC", "9005"),
        ("LOADMONITOR_ROUTER_PORT", "tcp://10.96.12.8:80"),
    ],
)
def test_what_kubernetes_sets_for_a_service_of_our_name_is_passed_over(
    variable: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "loadmonitor_worker.settings"):
        assert load_settings(ReporterConfig, code=CODE, environ={variable: text}).config == ReporterConfig(port=0)
    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert variable in caplog.text


def test_no_setting_has_a_variable_that_kubernetes_might_set() -> None:
    with pytest.raises(
        ConfigError, match="no value for port: give the flag --port or the environment variable LOADMONITOR_LISTEN"
    ):
        load_settings(ReporterConfig, environ={"LOADMONITOR_PORT": "tcp://10.96.12.7:1"})


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("LOADMONITOR_PORT", "give LOADMONITOR_LISTEN=HOST:PORT"),
        ("LOADMONITOR_HOST", "give LOADMONITOR_LISTEN=HOST:PORT"),
        ("LOADMONITOR_WORKER_PORT", "did you mean LOADMONITOR_"),
    ],
)
def test_a_port_under_a_name_that_only_links_have_is_an_error_and_not_passed_over(variable: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"the environment variable {variable} is no setting: {meant}"):
        load_settings(ReporterConfig, code=CODE, environ={variable: "50177"})


def test_variables_of_others_are_nobodys_business_here() -> None:
    environ = {"STALE_AFTER_MS": "1", "LOADMONITORX": "1", "loadmonitor_stale_after_ms": "1"}
    assert load_settings(ReporterConfig, code=CODE, environ=environ).config == ReporterConfig(port=0)


def test_an_empty_variable_counts_as_not_set() -> None:
    loaded = load_settings(
        ReporterConfig, code=CODE, environ={"LOADMONITOR_STALE_AFTER_MS": " ", "LOADMONITOR_MODEL": ""}
    )
    assert loaded.config == ReporterConfig(port=0)
    assert loaded.origins["model"].kind == "default"


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("LOADMONITOR_STALE_AFTER_MS", "3s", r"stale_after_ms='3s' \(LOADMONITOR_STALE_AFTER_MS\) is not an integer"),
        ("LOADMONITOR_STALE_AFTER_MS", "1_000", r"stale_after_ms='1_000' \(LOADMONITOR_STALE_AFTER_MS\) is not an"),
        (
            "LOADMONITOR_STALE_AFTER_MS",
            "0",
            r"stale_after_ms=0 \(LOADMONITOR_STALE_AFTER_MS\) is not allowed: an integer",
        ),
        (
            "LOADMONITOR_WORKER_TYPE",
            "prefil",
            r"worker_type='prefil' \(LOADMONITOR_WORKER_TYPE\) .* regular, prefill, decode",
        ),
        ("LOADMONITOR_OVERSHOOT", "Clamp", r"overshoot='Clamp' \(LOADMONITOR_OVERSHOOT\) .* one of strict, clamp is"),
    ],
)
def test_a_bad_value_is_named_with_its_variable_and_what_is_allowed(variable: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_settings(ReporterConfig, code=CODE, environ={variable: text})


def test_a_bad_variable_that_a_flag_overrides_does_no_harm() -> None:
    loaded = load_settings(
        ReporterConfig, code=CODE, environ={"LOADMONITOR_STALE_AFTER_MS": "soon"}, flags={"stale_after_ms": 5}
    )
    assert loaded.config.stale_after_ms == 5


def test_a_stale_window_below_the_engines_publish_interval_names_both_origins() -> None:
    with pytest.raises(SettingError) as caught:
        load_settings(
            ReporterConfig,
            code=CODE,
            environ={"LOADMONITOR_STALE_AFTER_MS": "50"},
            flags={"publish_interval_ms": 200},
        )
    assert str(caught.value) == (
        "stale_after_ms=50 (LOADMONITOR_STALE_AFTER_MS) is below the engine's publish interval, 200 ms: use at least 600; "
        "publish_interval_ms is from --publish-interval-ms"
    )


def test_a_lease_too_short_for_its_interval_is_refused() -> None:
    with pytest.raises(SettingError, match=r"max_lease_ttl_ms=100 is too short .* 60 ms: .* use at least 120"):
        ReporterConfig(port=0, max_lease_ttl_ms=100, min_report_interval_ms=60)
    ReporterConfig(port=0, max_lease_ttl_ms=120, min_report_interval_ms=60)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "7"])
def test_a_publish_interval_is_an_integer_above_zero(value: object) -> None:
    with pytest.raises(SettingError, match=r"publish_interval_ms=.* an integer of at least 1 is"):
        ReporterConfig(port=0, publish_interval_ms=value)  # type: ignore[arg-type] # the point of the test


def test_a_setting_without_a_default_says_how_it_is_given() -> None:
    with pytest.raises(MissingSettingError, match="no value for port and source: give the flag --port or"):
        load_settings(WithSource)


@given(st.dictionaries(st.text(), st.text()))
def test_no_foreign_environment_is_an_error(environ: dict[str, str]) -> None:
    foreign = {f"X{name}": text for name, text in environ.items()}
    assert load_settings(ReporterConfig, code=CODE, environ=foreign).config == ReporterConfig(port=0)


@given(st.sampled_from(["STALE_AFTER_MS", "LISTEN", "WORKER_TYPE", "MODEL", "PULL_BUDGET_MS"]), st.text())
def test_any_text_in_a_variable_is_a_value_or_a_config_error(name: str, text: str) -> None:
    with suppress(ConfigError):
        load_settings(ReporterConfig, code=CODE, environ={f"LOADMONITOR_{name}": text})


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "host": st.sampled_from(["0.0.0.0", "::1"]),
            "port": st.integers(0, 65_535),
            "worker_type": st.sampled_from(WorkerType),
            "stale_after_ms": st.integers(1, 10_000),
            "zone": st.none() | st.text("ab=/", min_size=1),
            "file": st.none() | st.just(Path("/run/loads")),
            "labels": st.lists(st.text("ab=", min_size=1)).map(tuple),
            "loud": st.booleans(),
            "http_port": st.integers(0, 65_535),
        },
    )
)
def test_settings_come_back_from_the_environment_they_are_written_to(code: dict[str, object]) -> None:
    loaded = load_settings(WithSource, code={"source": "x", "port": 0} | code)
    written = environment_of(loaded)
    assert load_settings(WithSource, environ=written).config == loaded.config
    assert {"LOADMONITOR_SOURCE", "LOADMONITOR_LISTEN"} <= written.keys() <= {variable_of(n) for n in loaded.origins}
    assert "LOADMONITOR_MODEL" not in written

"""`loadmonitor-worker config`, and the environment of the other commands."""

import json
from dataclasses import fields

import pytest
from worker_process import run, serving

from loadmonitor_worker import cli
from loadmonitor_worker.cli._settings import ServeFlags, SidecarConfig, SourceFlags
from loadmonitor_worker.settings import variable_of


def rows(*arguments: str) -> dict[str, dict[str, object]]:
    ended = run("config", "--json", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return {row["setting"]: row for row in map(json.loads, ended.stdout.splitlines())}


def test_every_setting_of_serve_has_a_flag_without_a_default_of_its_own() -> None:
    flags = [field for kind in (SourceFlags, ServeFlags) for field in fields(kind)]
    settings = {variable_of(field.name) for field in fields(SidecarConfig)}
    assert {variable_of(field.name) for field in flags} == settings
    assert all(field.default is None for field in flags)


def test_each_setting_is_printed_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_STALE_AFTER_MS", "2000")
    monkeypatch.setenv("LOADMONITOR_LISTEN", "0.0.0.0:7")
    monkeypatch.setenv("LOADMONITOR_SELECT", "engine=0")
    engine = ("--engine-url", "http://127.0.0.1:1", "--max-running-requests", "8")
    shown = rows("--show-origin", "--source", "vllm-metrics", *engine, "--listen", "127.0.0.1:8")
    assert shown.keys() == {field.name for field in fields(SidecarConfig)}
    assert shown["stale_after_ms"] == {
        "schema": "loadmonitor-worker.config/1",
        "setting": "stale_after_ms",
        "value": 2000,
        "origin": "LOADMONITOR_STALE_AFTER_MS",
        "variable": "LOADMONITOR_STALE_AFTER_MS",
        "default": 3000,
    }
    assert (shown["host"]["value"], shown["host"]["origin"]) == ("127.0.0.1", "--listen")
    assert (shown["port"]["value"], shown["port"]["origin"]) == (8, "--listen")
    assert (shown["select"]["value"], shown["select"]["default"]) == (["engine=0"], [])
    assert (shown["model"]["value"], shown["model"]["origin"]) == (None, "default")
    assert rows("--source", "mapping", "--mapping", "vllm", *engine)["source"] == {
        "schema": "loadmonitor-worker.config/1",
        "setting": "source",
        "value": "mapping",
    }


def test_columns_show_what_is_not_set_as_a_dash() -> None:
    ended = run("config", "--show-origin", "--source", "synthetic")
    head, *lines = ended.stdout.splitlines()
    assert head.split() == ["SETTING", "VALUE", "ORIGIN", "VARIABLE", "DEFAULT"]
    assert ["model", "-", "default", "LOADMONITOR_MODEL", "-"] in [line.split() for line in lines]
    assert ["remote_drain", "false", "default", "LOADMONITOR_REMOTE_DRAIN", "false"] in [line.split() for line in lines]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (("--source", "synthetic", "--dp-size", "0"), "--dp-size 0 is not allowed"),
        (
            ("--source", "sglang-http", "--engine-url", "file:///etc/passwd"),
            "engine_url='file:///etc/passwd' is not allowed",
        ),
        (
            ("--source", "sglang-shm", "--engine-url", "http://127.0.0.1:1"),
            "--engine-url belongs to --source sglang-http",
        ),
        (("--source", "vllm-metrics"), "--source vllm-metrics needs --engine-url"),
        (("--source", "vllm-metrics", "--engine-url", "http://127.0.0.1:1"), "--max-running-requests is needed"),
    ],
)
def test_settings_that_serve_refuses_are_shown_and_exit_2(arguments: tuple[str, ...], wrong: str) -> None:
    ended = run("config", "--show-origin", *arguments)
    assert ended.returncode == 2
    assert ended.stdout.startswith("SETTING ")
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"loadmonitor-worker: {wrong}")


def test_a_sidecar_is_set_up_by_its_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_SOURCE", "synthetic")
    assert rows()["source"]["value"] == "synthetic"
    checked = run("check", "--json")
    assert [json.loads(line)["ok"] for line in checked.stdout.splitlines()] == [True] * 4


async def test_serve_reads_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_MODEL", "of-the-environment")
    monkeypatch.setenv("LOADMONITOR_SOURCE", "sglang-shm")
    async with serving("--source", "synthetic") as (_, router):
        report = await router.report()
        assert report.worker.model == "of-the-environment"
        assert len(report.ranks) == 1


@pytest.mark.parametrize("command", ["serve", "check", "config"])
def test_a_mistyped_variable_ends_each_command_with_its_name(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_STALE_AFTR_MS", "50")
    ended = run(command, "--source", "synthetic")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "LOADMONITOR_STALE_AFTR_MS is no setting: did you mean LOADMONITOR_STALE_AFTER_MS?" in ended.stderr


def test_a_value_that_serve_would_refuse_is_refused_here_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_STALE_AFTER_MS", "50")
    ended = run("config", "--source", "synthetic", "--publish-interval-ms", "200")
    assert ended.returncode == 2
    assert ended.stderr == (
        "loadmonitor-worker: stale_after_ms=50 (LOADMONITOR_STALE_AFTER_MS) is below the engine's publish interval, 200 ms: "
        "use at least 600; publish_interval_ms is from --publish-interval-ms\n"
    )


def test_a_setting_of_another_source_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADMONITOR_SHM_PATH", "/dev/shm/x")
    ended = run("serve", "--source", "synthetic")
    assert ended.returncode == 2
    assert "LOADMONITOR_SHM_PATH belongs to --source sglang-shm, not to --source synthetic" in ended.stderr


def test_no_source_is_a_usage_error() -> None:
    for command in ("serve", "check", "config"):
        ended = run(command)
        assert ended.returncode == 2
        assert (
            "no value for source: give the flag --source or the environment variable LOADMONITOR_SOURCE" in ended.stderr
        )


def test_a_password_in_an_address_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("http://me:hush@127.0.0.1:30000", "http://me:hush@127.0.0.1:99999999"):
        assert cli.run(["config", "--source", "sglang-http", "--engine-url", url, "--show-origin"]) == 2
        printed = capsys.readouterr()
        assert "hush" not in printed.out + printed.err
        assert "http://***@127.0.0.1" in printed.out

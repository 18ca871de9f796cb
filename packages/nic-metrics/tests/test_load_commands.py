"""The commands `nic-metrics serving-load` and `nic-metrics load`."""

import io
import json
import sys
from pathlib import Path

import pytest
from metrics_server import metrics, sends, serving
from nic_tree import NicTree

from nic_metrics import METRICS_URL_VARIABLE
from nic_metrics.cli import run

TEXT = (
    'sglang:token_usage{dp_rank="0"} 0.9\nsglang:token_usage{dp_rank="1"} 0.25\nsglang:token_usage{dp_rank="1"} NaN\n'
)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (METRICS_URL_VARIABLE, "MX_RDMA_NIC_PIN", "UCX_NET_DEVICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kept(tmp_path: Path) -> str:
    file = tmp_path / "metrics.prom"
    file.write_text(TEXT)
    return str(file)


def test_serving_load_reads_a_file_and_counts_one_rank(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serving-load", "--file", kept, "--dp-rank", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "LOAD   METRIC              SERIES  IGNORED  REASON",
        "0.250  sglang:token_usage  1       1",
    ]


def test_serving_load_in_json_has_null_for_unknown(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serving-load", "--file", kept, "--dp-rank", "7", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "schema": "nic-metrics.serving-load/1",
        "load": None,
        "reason": "no_such_rank",
        "detail": "no series has dp_rank='7'",
        "metric": "sglang:token_usage",
        "series": 0,
        "ignored": 0,
        "source": kept,
    }


def test_serving_load_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'fleet_vllm:kv_cache_usage_perc{engine="2"} 0.5\n')))
    assert run(["serving-load", "--file", "-", "--engine", "2", "--prefix", "fleet_", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["load"] == 0.5


def test_serving_load_asks_an_address_by_flag_or_by_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(sends(metrics(TEXT.encode()))) as server:
        assert run(["serving-load", "--url", server.url, "--timeout", "20"]) == 0
        monkeypatch.setenv(METRICS_URL_VARIABLE, server.url)
        assert run(["serving-load", "--timeout", "20"]) == 0
        assert len(server.requests) == 2
    assert capsys.readouterr().out.count("0.900  sglang:token_usage  2       1\n") == 2
    assert run(["serving-load"]) == 1
    assert f"-     -       -       -        unreachable: {server.url} can't be reached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no source: give --url or --file, or set MX_P2P_RUNTIME_METRICS_URL"),
        (["--url", "http://x/", "--file", "y"], "--url and --file are two sources"),
        (["--file", "/nowhere/at/all"], "--file /nowhere/at/all can't be read: No such file or directory"),
        (["--url", "file:///etc/passwd"], "is not an address of http or https"),
        (["--url", "http://127.0.0.1:1/", "--timeout", "0"], "--timeout 0 is not a finite number above 0"),
        (
            ["--url", "http://127.0.0.1:1/", "--prefix", "a b"],
            "--prefix: 'a bvllm:kv_cache_usage_perc' is no metric's name",
        ),
        (["--url", "http://127.0.0.1:1/", "--engine", "x"], "--engine"),
    ],
)
def test_serving_load_refuses_what_it_cannot_do(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serving-load", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    tree = NicTree(tmp_path / "class")
    tree.port("mlx5_0", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    return tree


def test_load_shows_every_signal_and_the_one_load(tree: NicTree, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(sends(metrics(TEXT.encode()))) as server:
        flags = [
            "--device",
            "mlx5_0",
            "--root",
            str(tree.root),
            "--url",
            server.url,
            "--timeout",
            "20",
            "--dp-rank",
            "1",
            "--interval",
            "0.15",
        ]
        assert run(["load", *flags]) == 0
        assert len(server.requests) == 1
    titles, nic, engine, load = capsys.readouterr().out.splitlines()
    assert titles.split() == ["SIGNAL", "LOAD", "AGE", "REASON", "DETAIL"]
    assert nic.split()[:2] + nic.split()[3:] == ["nic", "0.000", "mlx5_0:1", "0.000", "by", "counters"]
    assert engine.split()[::3] == ["serving", "sglang:token_usage"]
    assert load.split() == ["load", "0.250"]


def test_load_of_a_nic_that_cannot_be_seen_is_unknown_in_json(
    tree: NicTree, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--root", str(tree.root), "--interval", "0.15", "--json"]
    for flag in ("--device", "--busiest-of"):
        assert run(["load", *flags, flag, "mlx5_0:1", flag, "mlx5_9:2"]) == 1
        detail = "mlx5_0:1 0.000, mlx5_9:2 port_missing" + (" by counters" if flag == "--device" else "")
        told = json.loads(capsys.readouterr().out)
        assert 0 <= told["signals"]["nic"].pop("age_seconds") < 30
        assert told == {
            "schema": "nic-metrics.load/1",
            "load": None,
            "reason": "all_unknown",
            "signals": {"nic": {"load": None, "reason": "port_missing", "detail": detail}},
        }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "mlx5_0:x"], "'mlx5_0:x' in 'mlx5_0:x' is no port"),
        (["--device", "../mlx5_0"], "is no port"),
        (["--device", "mlx5_0", "--interval", "0"], "--interval 0 is not above 0 and at most 60"),
        (["--url", "nonsense"], "is not an address of http or https"),
        (["--url", "http://127.0.0.1:1/", "--timeout", "nan"], "--timeout nan is not a finite number above 0"),
    ],
)
def test_load_refuses_what_it_cannot_do(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["load", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


def test_load_takes_the_nic_from_the_environment_and_says_when_that_names_none(
    tree: NicTree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--root", str(tree.root), "--interval", "0.15"]
    assert run(["load", *flags]) == 1
    assert "UCX chooses" in capsys.readouterr().out
    monkeypatch.setenv("UCX_NET_DEVICES", "mlx5_0:1")
    assert run(["load", *flags]) == 0
    assert "mlx5_0:1 0.000 by counters" in capsys.readouterr().out


def test_load_without_a_nic_is_the_engine_s(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(sends(metrics(TEXT.encode()))) as server:
        assert run(["load", "--no-nic", "--url", server.url, "--timeout", "20", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["load"], list(told["signals"])) == (0.9, ["serving"])
    assert run(["load", "--no-nic"]) == 1
    assert "no_signal" in capsys.readouterr().out


def test_load_of_a_named_device_reads_nothing_of_others(tree: NicTree) -> None:
    tree.port("mlx5_1", {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1})
    opened: list[str] = []
    listening = True

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event in {"open", "os.listdir", "os.scandir"}:
            opened.append(str(arguments[0]))

    # It can't be taken away, but made deaf.
    sys.addaudithook(note)
    assert run(["load", "--device", "mlx5_0", "--root", str(tree.root), "--interval", "0.15"]) == 0
    listening = False
    assert any("mlx5_0" in path for path in opened)
    assert [path for path in opened if "mlx5_1" in path or path == str(tree.root)] == []

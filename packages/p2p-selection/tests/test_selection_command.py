"""The command `p2p-selection`."""

import io
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from p2p_selection import Candidate, LoadAware, Target, rendezvous_digest
from p2p_selection.cli import run

COMMAND = str(Path(sysconfig.get_path("scripts")) / "p2p-selection")
NOW_MS = 1_700_000_000_000
FRESH = {"mx_source_id": "5a5f", "model_name": "m", "worker_rank": 0, "updated_at": NOW_MS - 1_000, "status": "READY"}
SOURCES: list[dict[str, object]] = [
    {**FRESH, "worker_id": "7112a311", "source_load": 0.788, "accelerator": "cuda"},
    {**FRESH, "worker_id": "9dd3b44f", "source_load": None, "updated_at": str(NOW_MS - 1_000)},
    {**FRESH, "worker_id": "a80410cc", "source_load": 0.1, "updated_at": NOW_MS - 131_000},
    {**FRESH, "worker_id": "other", "source_load": 0.1, "model_name": "x"},
    {**FRESH, "worker_id": ""},
]
EXPLAIN = ("--target", "m,t,0", "--now-ms", str(NOW_MS))


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MX_"):
            monkeypatch.delenv(name)


@pytest.fixture
def listed(tmp_path: Path) -> str:
    file = tmp_path / "sources.jsonl"
    file.write_text("\n".join(map(json.dumps, SOURCES)) + "\n\n")
    return str(file)


def test_explain_shows_every_source_of_the_model_best_first(listed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", listed, *EXPLAIN, "--policy", "load_aware", "--limit", "1"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "#  SOURCE    FATE       HASH     LOAD  PENALTY  SCORE  WHY",
        "1  9dd3b44f  chosen     0.57476  -     0.500    0.075  load unknown: counts as 0.50",
        "2  7112a311  candidate  0.80846  0.79  0.788    0.020",
        "-  a80410cc  dropped    -        0.10  -        -      heartbeat 131 s > 90 s",
        "-  -         dropped    -        -     -        -      worker_id is empty or missing",
    ]
    assert err == "p2p-selection: 1 sources of other models than m are left out\n"


def test_json_is_one_object_a_line_with_null_for_unknown(listed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", listed, *EXPLAIN, "--policy", "load_aware", "--load-weight", "2", "--json"]) == 0
    second, first, *_, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    candidate = Candidate("5a5f", "9dd3b44f", 0)
    digest = rendezvous_digest(candidate, Target("m", "t", 0))
    (account,) = LoadAware(weight=2.0).accounts([candidate], Target("m", "t", 0))
    unknown = first if first["worker_id"] == "9dd3b44f" else second
    assert unknown == {
        "schema": "p2p-selection.explain/1",
        "policy": "load_aware",
        "place": unknown["place"],
        "mx_source_id": "5a5f",
        "worker_id": "9dd3b44f",
        "worker_rank": 0,
        "fate": "chosen",
        "drop_reason": None,
        "digest": str(digest),
        "unit_hash": digest / 2**64,
        "source_load": None,
        "counted_load": 0.5,
        "penalty": 1.0,
        "tier": 0,
        "score": account.score,
        "why": "load unknown: counts as 0.50",
    }
    assert (last["drop_reason"], last["worker_id"], last["place"]) == ("malformed", None, None)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(SOURCES[0])))
    assert run(["explain", "-", *EXPLAIN]) == 0
    assert "7112a311  chosen" in capsys.readouterr().out


def test_what_no_flag_says_comes_from_the_environment(
    listed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MX_P2P_SOURCE_SELECTOR", " Load_Aware ")
    monkeypatch.setenv("MX_P2P_LOAD_WEIGHT", "4")
    run(["explain", listed, *EXPLAIN, "--json"])
    row = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (row["policy"], row["penalty"]) == ("load_aware", 2.0)
    monkeypatch.setenv("MX_P2P_SOURCE_SELECTOR", "load-aware")
    assert run(["explain", listed, *EXPLAIN]) == 2
    assert capsys.readouterr().err.startswith(
        "p2p-selection: MX_P2P_SOURCE_SELECTOR load-aware is not a policy: bounded"
    )


def test_explain_exits_1_when_there_is_nothing_to_pull_from(
    tmp_path: Path, listed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", listed, "--target", "m,t,7", "--now-ms", str(NOW_MS)]) == 1
    assert "rank 0, the target wants 7" in capsys.readouterr().out
    (tmp_path / "empty").write_text("")
    assert run(["explain", str(tmp_path / "empty"), *EXPLAIN]) == 1
    assert run(["simulate", str(tmp_path / "empty"), "--rank", "7"]) == 1
    assert capsys.readouterr().err == "p2p-selection: no source of rank 7 can be pulled from\n"


def test_an_id_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hostile").write_text(json.dumps({**FRESH, "worker_id": "\x1b[31mred"}))
    run(["explain", str(tmp_path / "hostile"), *EXPLAIN])
    assert "\\x1b[31mred" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain"], "requires an argument"),
        (["explain", "F", "--target", "m,t"], "--target m,t is not MODEL,WORKER_ID,RANK, such as"),
        (["explain", "F", "--target", "m,t,-1"], "--target m,t,-1 is not MODEL,WORKER_ID,RANK"),
        (["explain", "F", *EXPLAIN, "--policy", "best"], "--policy best is not a policy: bounded_load, load_aware, "),
        (["explain", "F", *EXPLAIN, "--load-weight", "-1"], "--load-weight -1.0 is not allowed: a finite number"),
        (["explain", "F", *EXPLAIN, "--limit", "0"], "--limit 0 is not allowed: 1 or more"),
        (["explain", "--bogus", *EXPLAIN], "Unknown option: --bogus."),
        (["explain", "nowhere", *EXPLAIN], "nowhere can't be read: No such file or directory"),
        (["simulate", "--pullers", "0"], "--pullers 0 is not allowed: at least 1 is"),
        (["bogus"], "bogus"),
    ],
)
def test_wrong_usage_exits_2_with_one_line_that_names_it(
    arguments: list[str], message: str, listed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([listed if argument == "F" else argument for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 of {} is not JSON: "),
        ("[" * 100_000, "line 1 of {} is not JSON: "),
        ("\n[1]", "line 2 of {} is not a JSON object: [1]"),
    ],
)
def test_a_line_that_is_no_object_is_named(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken"
    file.write_text(text)
    assert run(["explain", str(file), *EXPLAIN]) == 2
    assert message.format(file) in capsys.readouterr().err


def test_simulate_shows_the_herd_of_load_aware_and_the_spread_of_spread(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--policy", "load_aware"]) == 0
    titles, first, *_ = capsys.readouterr().out.splitlines()
    assert titles.split() == ["SOURCE", "LOAD", "PULLS", "SHARE", "FAIR", "TIMES", "FAIR"]
    assert first.split() == ["source-00", "0.00", "200", "100.0%", "40.0%", "2.5"]
    assert run(["simulate", "--policy", "spread", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (len(rows), sum(row["pulls"] for row in rows)) == (16, 200)
    assert rows[0]["source_load"] == 0.0
    assert rows[0]["share"] < 1.5 * rows[0]["fair_share"]


def test_simulate_takes_a_list_whatever_its_age(listed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", listed, "--model", "m", "--pullers", "10", "--policy", "rendezvous_hash"]) == 0
    out = capsys.readouterr().out
    assert {line.split()[0] for line in out.splitlines()[1:]} == {"7112a311", "9dd3b44f", "a80410cc"}


def test_the_command_answers_as_a_process() -> None:
    version = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.count(".") == 2
    shown = subprocess.run([COMMAND, "explain", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: p2p-selection explain" in shown.stdout


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = subprocess.run(
        [COMMAND, "simulate", "--pullers", "1"], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_without_its_extra_the_command_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['cyclopts'] = None; sys.argv = ['p2p-selection', 'explain']; "
        "from p2p_selection.__main__ import main; sys.exit(main())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (
        1,
        "p2p-selection: the command needs cyclopts: pip install 'p2p-selection[cli]'\n",
    )

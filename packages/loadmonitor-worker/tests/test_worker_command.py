"""The command `loadmonitor-worker` as a process."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from worker_bench import Bench
from worker_process import COMMAND, WAIT_SECONDS, run, running, serving, stopped

from loadmonitor_proto import ReportStatus as Status
from loadmonitor_worker import cli
from loadmonitor_worker.sources import SglangShmWriter, SyntheticSource


async def test_serve_reports_a_synthetic_load_and_says_goodbye_on_sigterm() -> None:
    arguments = ("--source", "synthetic", "--dp-size", "3", "--worker-type", "prefill", "--model", "m")
    async with serving(*arguments) as (process, router):
        report = await router.report()
        assert report.status == Status.REPORT_STATUS_HEALTHY
        assert [rank.dp_rank for rank in report.ranks] == [0, 1, 2]
        assert report.worker.model == "m"
        logged = await stopped(process, router)
        assert [line.partition(": ")[2] for line in logged] == [
            "router 'r' registered: a report every 20 ms, lease 15000 ms",
            "closing: 1 routers are told",
        ]


async def test_serve_exits_130_when_interrupted() -> None:
    async with serving("--source", "synthetic") as (process, router):
        process.send_signal(signal.SIGINT)
        await router.ended()
        assert await process.wait() == 130


async def test_serve_starts_before_its_engine_and_reports_it_once_it_publishes(tmp_path: Path) -> None:
    path = tmp_path / "loads.shm"
    async with serving("--source", "sglang-shm", "--shm-path", str(path)) as (_, router):
        early = await router.report()
        assert early.status == Status.REPORT_STATUS_UNREACHABLE
        assert str(path) in early.last_error
        [load] = await SyntheticSource(1).get_loads()
        with SglangShmWriter(path, 1, 0) as writer:
            writer.write(load)
            while (report := await router.report()).status != Status.REPORT_STATUS_HEALTHY:
                pass
        assert report.ranks[0].num_used_tokens == load.num_used_tokens


async def test_a_taken_port_ends_serve_with_one_line(bench: Bench) -> None:
    port = bench.reporter.address.rpartition(":")[2]
    ended = run("serve", "--source", "synthetic", "--listen", f"127.0.0.1:{port}")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        (
            f"loadmonitor-worker: can't listen on 127.0.0.1:{port}: "
            "another process listens on that port, or this one already does; stop that or choose another port"
        )
    ]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--source", "synthetic", "--listen", "127.0.0.1:65536"], "port=65536 (--listen)"),
        (["--source", "synthetic", "--dp-size", "0"], "--dp-size 0"),
        (["--source", "synthetic", "--shm-path", "x"], "--shm-path"),
        (["--source", "sglang-shm", "--stale-after-ms", "0"], "stale_after_ms=0 (--stale-after-ms)"),
    ],
)
def test_a_wrong_setting_ends_serve_with_one_line_that_names_it(arguments: list[str], named: str) -> None:
    ended = run("serve", *arguments)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert named in line


@pytest.mark.parametrize("arguments", [["serve"], ["bogus"], ["serve", "--source", "vllm"], ["check", "--nope"]])
def test_wrong_usage_exits_2_with_one_line(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1


def test_version_and_help_answer() -> None:
    assert run("--version").stdout.count(".") == 2
    for arguments in (["--help"], ["serve", "--help"], ["check", "--help"], ["simulate", "--help"]):
        shown = run(*arguments)
        assert shown.returncode == 0
        assert "Usage: loadmonitor-worker" in shown.stdout


async def test_simulate_publishes_what_check_finds_good(tmp_path: Path) -> None:
    path = tmp_path / "loads.shm"
    async with running("simulate", "--shm-path", str(path), "--dp-size", "2") as (process, line):
        assert line == f"publishing 2 ranks in {path}"
        checked = await asyncio.to_thread(run, "check", "--source", "sglang-shm", "--shm-path", str(path), "--json")
        hops = [json.loads(text) for text in checked.stdout.splitlines()]
        assert [hop["hop"] for hop in hops] == ["reporter", "read", "valid", "fresh"]
        assert all(hop["ok"] for hop in hops), hops
        assert checked.returncode == 0
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_check_says_which_hop_fails_and_why(tmp_path: Path) -> None:
    path = tmp_path / "loads.shm"
    missing = run("check", "--source", "sglang-shm", "--shm-path", str(path))
    assert missing.returncode == 1
    assert missing.stdout.splitlines()[-1].startswith("fail  read")
    [load] = await SyntheticSource(1, unix_ms=lambda: 1_700_000_000_000).get_loads()
    with SglangShmWriter(path, 1, 0) as writer:
        writer.write(load)
    frozen = run("check", "--source", "sglang-shm", "--shm-path", str(path))
    assert frozen.returncode == 1
    assert frozen.stdout.splitlines()[-1].startswith("fail  fresh      STALE, rank 0 stale by ")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = subprocess.run(
        [COMMAND, "check", "--source", "synthetic"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    os.close(write_end)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [["--version"], ["check", "--source", "synthetic"]])
def test_closed_or_full_output_is_no_traceback(arguments: list[str]) -> None:
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", COMMAND, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (0, "")
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr == "loadmonitor-worker: standard output can't be written: No space left on device\n"


def test_simulate_overwrites_nobodys_file(tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    ended = run("simulate", "--shm-path", str(precious))
    assert ended.returncode == 2
    assert "is another file" in ended.stderr
    assert precious.read_text() == "precious"
    assert "65535 ranks" in run("simulate", "--shm-path", str(tmp_path / "new"), "--dp-size", "70000").stderr


def test_help_says_what_each_command_is_for() -> None:
    shown = run("--help").stdout
    for words in ("Report the load of an engine", "Say hop by hop", "Publish a made-up load"):
        assert words in shown


def test_a_command_s_help_says_more_than_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["serve", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Each flag has an environment variable, LOADMONITOR_ and its name in capitals" in shown
    assert "such as LOADMONITOR_HTTP_LISTEN" in shown

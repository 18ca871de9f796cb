"""`serve` and `check` with the sources that read metrics."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from http_engine import http_engine, ok, response
from metrics_texts import text_of
from worker_bench import Router
from worker_process import run, serving

from loadmonitor_proto import UNKNOWABLE_FIELDS, LoadReport
from loadmonitor_proto import ReportStatus as Status
from loadmonitor_worker.cli._options import closing, make_source
from loadmonitor_worker.cli._settings import SourceFlags, sidecar_settings
from loadmonitor_worker.errors import ConfigError

CLASSIC = "Content-Type: text/plain; version=0.0.4"
VLLM = ok(text_of("vllm_dp2").encode(), CLASSIC)
SGLANG = ok(text_of("sglang_dp2_tp2").encode(), CLASSIC)
TRITON = """schema = "loadmonitor.metrics-mapping/1"
engine = "Triton"
path = "/stats"
[fields]
num_running_reqs = "nv_active"
num_waiting_reqs = "nv_pending"
"""


async def check(*arguments: str) -> tuple[int, list[tuple[str, bool, str]]]:
    """The exit code of `check` and its hops; run once more where a busy machine missed the source's deadline."""
    while True:
        ended = await asyncio.to_thread(run, "check", "--json", *arguments)
        assert ended.stderr == ""
        hops = [json.loads(line) for line in ended.stdout.splitlines()]
        if "gave no complete answer" not in hops[-1]["detail"]:
            return ended.returncode, [(hop["hop"], hop["ok"], hop["detail"]) for hop in hops]


async def healthy(router: Router) -> LoadReport:
    """The first report that is; a busy machine may miss the deadline of a pull before."""
    while (report := await router.report()).status != Status.REPORT_STATUS_HEALTHY:
        assert "within" in report.last_error or "earlier read" in report.last_error
    return report


async def unreachable(router: Router, words: str) -> None:
    """The first report that says so in these words."""
    while words not in (report := await router.report()).last_error:
        pass
    assert report.status == Status.REPORT_STATUS_UNREACHABLE
    assert not report.ranks


async def test_serve_reports_a_vllm_engine_and_unreachable_when_its_metrics_lack_it() -> None:
    async with http_engine() as engine:
        engine.answers["/metrics"] = VLLM
        arguments = ("--source", "vllm-metrics", "--engine-url", engine.url, "--max-running-requests", "256")
        async with serving(*arguments, "--dp-size", "2") as (_, router):
            report = await healthy(router)
            first, second = report.ranks
            assert (first.num_running_reqs, second.num_waiting_reqs, second.max_total_num_tokens) == (3, 72, 128_000)
            # What isn't told is not sent …
            assert not first.HasField("prefill_throughput")
            assert not first.HasField("prefill_busy_us_total")
            assert first.utilization == -1
            # … and named, where 0 would be read instead.
            present = {field.name for field, _ in first.ListFields()}
            assert not present & {"num_waiting_uncached_tokens", "num_total_tokens", "gen_throughput", "cache_hit_rate"}
            assert [list(rank.unknown_field_numbers) for rank in (first, second)] == [[5, 7, 11, 12]] * 2
            engine.answers["/metrics"] = ok(b"process_cpu_seconds_total 5\n", CLASSIC)
            await unreachable(router, "shows no vllm:num_requests_running")


async def test_serve_reports_an_engine_by_a_mapping_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "triton.toml").write_text(TRITON)
    async with http_engine() as engine:
        engine.answers["/stats"] = ok(b'nv_active{zone="a"} 5\nnv_active{zone="b"} 50\nnv_pending 6\n', CLASSIC)
        arguments = ["--source", "mapping", "--mapping", str(tmp_path / "triton.toml"), "--engine-url", engine.url]
        arguments += ["--max-running-requests", "64", "--max-total-num-tokens", "1000", "--first-dp-rank", "3"]
        async with serving(*arguments, "--select", "zone=a") as (_, router):
            report = await healthy(router)
            [rank] = report.ranks
            assert (rank.dp_rank, rank.num_running_reqs, rank.num_waiting_reqs) == (3, 5, 6)
            # Nothing else is sent: neither a use of the cache nor a rate that nobody told.
            assert [field.name for field, _ in rank.ListFields()] == [
                "dp_rank",
                "snapshot_time_unix_ms",
                "num_running_reqs",
                "num_waiting_reqs",
                "max_total_num_tokens",
                "max_running_requests",
                "utilization",
                "unknown_field_numbers",
            ]
            assert list(rank.unknown_field_numbers) == list(UNKNOWABLE_FIELDS)


async def test_serve_starts_before_its_engine() -> None:
    arguments = ("--engine-url", "http://127.0.0.1:1", "--max-running-requests", "64")
    async with serving("--source", "sglang-metrics", *arguments) as (_, router):
        await unreachable(router, "Connection refused: start the engine")


async def test_check_follows_an_engine_and_says_what_it_does_not_tell() -> None:
    async with http_engine() as engine:
        engine.answers["/metrics"] = SGLANG
        arguments = ("--source", "sglang-metrics", "--engine-url", engine.url, "--max-running-requests", "64")
        code, hops = await check(*arguments, "--stale-after-ms", "60000")
        engine.answers["/metrics"] = response("404 Not Found")
        failed, last = await check(*arguments)
    assert code == 0
    assert [hop for hop, _, _ in hops] == ["reporter", "read", "dated", "unknown", "unknown", "valid", "fresh"]
    details = [detail for _, _, detail in hops]
    assert details[1].endswith(f" from {engine.url}/metrics")
    assert details[2].startswith("every rank by the moment before it was asked for")
    assert details[3] == (
        "num_waiting_uncached_tokens, num_total_tokens, prefill_throughput, prefill_busy_us_total: SGLang has no metric for it; "
        "reports say so"
    )
    assert details[4].startswith("utilization: SGLang doesn't know its own sglang:utilization")
    assert failed == 1
    assert last[-1][:2] == ("read", False)
    assert "--enable-metrics" in last[-1][2]


async def test_the_commands_close_a_source_that_reads_metrics() -> None:
    async with http_engine() as engine:
        engine.answers["/metrics"] = VLLM
        flags = SourceFlags(source="vllm-metrics", engine_url=engine.url, max_running_requests=256)
        source = make_source(sidecar_settings(flags))
        async with closing(source):
            await source.get_loads()
            assert engine.connected == 1
        await engine.deserted()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (SourceFlags(source="mapping"), "--source mapping needs --mapping: a TOML file, or one of llamacpp, lmdeploy"),
        (
            SourceFlags(source="vllm-metrics", mapping="vllm"),
            "--mapping belongs to --source mapping, not to --source vllm-metrics: leave it out",
        ),
        (
            SourceFlags(source="sglang-http", select=("a=b",)),
            "--select belongs to --source vllm-metrics or sglang-metrics or mapping, not to",
        ),
        (SourceFlags(source="sglang-http", first_dp_rank=1), "--first-dp-rank belongs to"),
        (SourceFlags(source="sglang-shm"), "--engine-url belongs to --source sglang-http or vllm-metrics or sglang-"),
        (
            SourceFlags(source="sglang-metrics", max_running_requests=1, select=("a",)),
            "--select a is not allowed: LABEL=VALUE is",
        ),
        (SourceFlags(source="sglang-metrics", max_running_requests=1, select=("=a",)), "--select =a is not allowed"),
    ],
)
def test_flags_that_do_not_fit_are_refused_and_named(flags: SourceFlags, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_source(sidecar_settings(replace(flags, engine_url="http://h:1")))
    assert words in str(caught.value)


def test_a_capacity_that_nobody_tells_is_asked_for_by_its_flag() -> None:
    ended = run("serve", "--source", "vllm-metrics", "--engine-url", "http://h:1")
    assert ended.returncode == 2
    assert ended.stderr.startswith("loadmonitor-worker: --max-running-requests is needed: vLLM has no metric for it")
    ended = run("serve", "--source", "vllm-metrics")
    assert ended.stderr.startswith("loadmonitor-worker: --source vllm-metrics needs --engine-url")

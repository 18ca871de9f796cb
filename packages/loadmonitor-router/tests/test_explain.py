"""Why a Worker is included or left out: hop by hop, and as a command."""

import asyncio
import json
import signal
import sysconfig
from asyncio.subprocess import PIPE
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_samples import NOW_NS, REGISTERED, lost, worker_load

from loadmonitor_proto import ReportStatus
from loadmonitor_router import DropReason, Freshness, WorkerState
from loadmonitor_router.explanation import Explanation, explain
from loadmonitor_router.testing import ScriptedWorker, wire_rank, wire_report

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")
URL = "http://10.0.0.1:30000"


def hops(explanation: Explanation) -> list[tuple[str, bool | None]]:
    return [(hop.name, hop.ok) for hop in explanation.hops]


def texts(explanation: Explanation) -> dict[str, str]:
    return {hop.name: hop.text for hop in explanation.hops}


def test_a_fresh_worker_is_included_and_every_hop_says_what_is_known() -> None:
    load = worker_load(URL, wire_rank(0, num_waiting_reqs=0, token_usage=0.25), wire_rank(1, num_waiting_reqs=11))
    explanation = explain(load, NOW_NS)
    assert (explanation.url, explanation.included, explanation.reason) == (URL, True, None)
    assert texts(explanation) == {
        "connection": "registered for 3.2 s; lease 15000 ms, report every 1000 ms, reporter a",
        "reports": "4 received, dropped: none",
        "engine": "HEALTHY in report 7 of a",
        "ranks": "2 complete; waiting 0 to 11, token usage 0.25 to 0.50",
        "age": "at most 84 ms: own 20 ms + delivery 4 ms + since receipt 40 ms",
        "state": "the engine doesn't tell",
    }
    assert {hop.ok for hop in explanation.hops} == {True}


def test_a_lost_connection_is_the_reason_and_what_follows_is_open() -> None:
    explanation = explain(worker_load(URL, freshness=Freshness.MISSING, connection=lost()), NOW_NS)
    assert not explanation.included
    assert explanation.reason == (
        "connection: backing_off for 3.2 s; UNAVAILABLE: Connection refused; dialled again 3 times; next attempt in 1.5 s"
    )
    assert hops(explanation) == [
        ("connection", False),
        *((name, None) for name in ("reports", "engine", "ranks", "age", "state")),
    ]


def test_dropped_reports_are_the_reason_when_none_is_left() -> None:
    connection = replace(
        REGISTERED,
        received=2,
        dropped={DropReason.NEGATIVE: 2},
        last_drop="report 2 of instance a: num_running_reqs=-1",
    )
    explanation = explain(worker_load(URL, freshness=Freshness.MISSING, connection=connection), NOW_NS)
    assert explanation.reason == (
        "reports: 2 received, dropped: 2 negative; last drop: report 2 of instance a: num_running_reqs=-1"
    )


def test_an_engine_that_can_not_be_read_is_the_reason() -> None:
    load = worker_load(
        URL,
        freshness=Freshness.UNREACHABLE,
        age_ms=None,
        status=ReportStatus.REPORT_STATUS_UNREACHABLE,
        last_error="no snapshot file",
    )
    explanation = explain(load, NOW_NS)
    assert explanation.reason == "engine: UNREACHABLE in report 7 of a: no snapshot file"
    assert hops(explanation)[2:] == [("engine", False), ("ranks", None), ("age", None), ("state", True)]


def test_a_rank_without_capacity_is_the_reason_and_not_the_age() -> None:
    load = worker_load(
        URL, wire_rank(0), wire_rank(3, max_total_num_tokens=0), freshness=Freshness.STALE, reason="no capacity …"
    )
    explanation = explain(load, NOW_NS)
    assert explanation.reason == "ranks: no capacity published by rank 3; 2 reported"
    assert dict(hops(explanation))["age"] is None


def test_an_old_report_is_the_reason_with_the_terms_of_its_age() -> None:
    load = worker_load(URL, freshness=Freshness.STALE, age_ms=4_100.0, reason="4100 ms old, fresh is up to 3000 ms")
    assert explain(load, NOW_NS).reason == (
        "age: 4100 ms old, fresh is up to 3000 ms; own 20 ms + delivery 4 ms + since receipt 40 ms"
    )


def test_a_report_that_calls_itself_stale_is_the_engines_reason() -> None:
    load = worker_load(
        URL,
        freshness=Freshness.STALE,
        reason="rank 0 stale by 1103 ms",
        status=ReportStatus.REPORT_STATUS_STALE,
        last_error="rank 0 stale by 1103 ms",
    )
    explanation = explain(load, NOW_NS)
    assert explanation.reason == "engine: STALE in report 7 of a: rank 0 stale by 1103 ms"
    assert dict(hops(explanation))["age"] is None


@pytest.mark.parametrize("state", WorkerState)
def test_a_fresh_worker_is_left_out_while_it_loads_drains_or_pauses(state: WorkerState) -> None:
    load = worker_load(URL)
    assert load.report is not None
    explanation = explain(replace(load, report=replace(load.report, worker_state=state)), NOW_NS)
    serving = state is WorkerState.SERVING
    assert explanation.included is serving
    word = state.removeprefix("WORKER_STATE_")
    assert explanation.reason == (None if serving else f"state: {word}: gets no new request")


async def run(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(COMMAND, "explain", *arguments, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_the_command_explains_an_included_worker_and_ends_in_a_block_to_paste() -> None:
    async with ScriptedWorker() as worker:
        explaining = asyncio.create_task(run(worker.address))
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        code, out, err = await explaining
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{worker.address} is included"
    assert [line.split()[:2] for line in lines[1:7]] == [
        ["ok", name] for name in ("connection", "reports", "engine", "ranks", "age", "state")
    ]
    assert (lines[8], lines[-1]) == ("--- to paste into a bug report", "---")
    versions, settings, observed, report = map(json.loads, lines[9:13])
    assert {"python", "loadmonitor-router", "grpcio", "protobuf"} <= set(versions)
    assert settings == {
        "worker": worker.address,
        "timeout_seconds": 5.0,
        "report_interval_ms": 1000,
        "lease_ttl_ms": 15000,
    }
    assert (observed["freshness"], observed["received"]) == ("fresh", 1)
    assert (report["sequence_id"], report["ranks"][0]["num_running_reqs"]) == (1, 12)
    assert report["receipt"]["delay_ms"] is not None


async def test_the_command_exits_1_for_a_worker_that_reports_old_numbers() -> None:
    async with ScriptedWorker() as worker:
        explaining = asyncio.create_task(run(worker.address))
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1, max_snapshot_age_ms=4_100))
        code, out, err = await explaining
    assert (code, err) == (1, "")
    assert out.startswith(f"{worker.address} is excluded by age: ")
    assert "fresh is up to 3000 ms; own 4100 ms + delivery " in out.splitlines()[0]


async def test_the_command_exits_1_for_a_worker_that_is_not_there() -> None:
    async with ScriptedWorker() as gone:
        address = gone.address
    code, out, err = await run(address, "--timeout", "0.3")
    assert (code, err) == (1, "")
    assert out.startswith(f"{address} is excluded by connection: ")
    assert "Connection refused" in out.splitlines()[1]
    assert out.splitlines()[12:] == ["null", "---"]


async def test_the_command_exits_1_at_once_for_a_worker_that_refuses_it() -> None:
    async with ScriptedWorker() as worker:
        explaining = asyncio.create_task(run(worker.address, "--timeout", "50"))
        await (await worker.accept()).fail("PERMISSION_DENIED", "not you")
        code, out, err = await explaining
    assert (code, err) == (1, "")
    assert out.splitlines()[1].startswith("fail  connection  failed for ")
    assert "PERMISSION_DENIED: not you" in out.splitlines()[1]


async def test_an_interrupted_explanation_says_nothing_and_ends_with_130() -> None:
    async with ScriptedWorker() as worker:
        process = await asyncio.create_subprocess_exec(COMMAND, "explain", worker.address, stdout=PIPE, stderr=PIPE)
        await worker.accept()
        process.send_signal(signal.SIGINT)
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "requires an argument"),
        (["worker"], "the port is missing"),
        (["w:1", "--timeout", "0"], "--timeout 0.0 is not allowed"),
    ],
)
async def test_wrong_usage_of_explain_exits_2(arguments: list[str], error: str) -> None:
    code, out, err = await run(*arguments)
    assert (code, out) == (2, "")
    assert error in err

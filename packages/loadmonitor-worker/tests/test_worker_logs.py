"""What is logged: changes, once each, with the fields that a search needs."""

import json
import logging
import subprocess
import sys

import pytest
from worker_bench import Bench

from loadmonitor_proto import RouterFrame, StopRequest
from loadmonitor_worker import WorkerState
from loadmonitor_worker._journal import StatusJournal
from loadmonitor_worker._verdict import ReportStatus, Verdict
from loadmonitor_worker.cli._logging import JsonFormatter

SECOND_NS = 1_000_000_000
HEALTHY = Verdict(ReportStatus.HEALTHY, None, 10)
STALE = Verdict(ReportStatus.STALE, "rank 0 stale by 5 ms", 3_005)
UNREACHABLE = Verdict(ReportStatus.UNREACHABLE, "no file", None)


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    """Capture every level."""
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_an_engine_that_is_lost_and_comes_back_is_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    journal = StatusJournal()
    journal.note(HEALTHY, 0)
    for tenth in range(1, 411):
        journal.note(UNREACHABLE, tenth * SECOND_NS // 10)
    for tenth in range(411, 600):
        journal.note(HEALTHY, tenth * SECOND_NS // 10)
    assert lines(caplog) == [
        "the engine's load is UNREACHABLE: no file",
        "the engine's load is HEALTHY again: 410 reports in 40.9 s were not",
    ]
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_one_that_flickers_is_not_told_at_every_flicker(caplog: pytest.LogCaptureFixture) -> None:
    journal = StatusJournal()
    for tenth in range(1_000):
        journal.note(STALE if tenth % 2 else HEALTHY, tenth * SECOND_NS // 10)
    assert lines(caplog) == ["the engine's load is STALE: rank 0 stale by 5 ms"]
    for tenth in range(1_000, 1_060):
        journal.note(HEALTHY, tenth * SECOND_NS // 10)
    assert lines(caplog)[1:] == ["the engine's load is HEALTHY again: 500 reports in 99.8 s were not"]
    journal.note(STALE, 200 * SECOND_NS)
    assert len(lines(caplog)) == 3


def test_whatever_a_source_says_is_one_line_of_bounded_length(caplog: pytest.LogCaptureFixture) -> None:
    StatusJournal().note(Verdict(ReportStatus.UNREACHABLE, "é\nINFO forged\x1b[2J\ud800" + "x" * 5_000, None), 0)
    [line] = lines(caplog)
    assert line.startswith("the engine's load is UNREACHABLE: é\\nINFO forged\\x1b[2J\\ud800xxx")
    assert len(line) < 1_100
    assert line.isprintable()


def test_a_worse_trouble_is_told_and_the_way_back_from_it_is_not(caplog: pytest.LogCaptureFixture) -> None:
    journal = StatusJournal()
    for second, verdict in enumerate((STALE, STALE, UNREACHABLE, UNREACHABLE, STALE, HEALTHY)):
        journal.note(verdict, second * SECOND_NS)
    assert [line.partition(":")[0] for line in lines(caplog)] == [
        "the engine's load is STALE",
        "the engine's load is UNREACHABLE",
    ]


async def test_a_reporter_tells_of_its_engine_once(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.source.error = RuntimeError("gone")
    await bench.registered(interval_ms=100)
    await bench.clock.advance(1_000)
    bench.source.error = None
    await bench.clock.advance(7_000)
    told = [line for line in lines(caplog) if "engine's load" in line]
    assert told[0] == "the engine's load is UNREACHABLE: the source failed with RuntimeError: gone"
    assert told[1].startswith("the engine's load is HEALTHY again: 11 reports in 1.0 s")
    assert len(told) == 2


async def test_what_becomes_of_a_session_carries_the_router_and_its_peer(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    stops = await bench.registered("stops")
    await stops.send(RouterFrame(stop=StopRequest()))
    await stops.ended()
    wrong = await bench.router()
    await wrong.send(RouterFrame())
    await wrong.ended()
    records = [record for record in caplog.records if hasattr(record, "router_id")]
    assert [(record.levelname, vars(record)["router_id"]) for record in records] == [
        ("INFO", "stops"),
        ("INFO", "stops"),
        ("WARNING", None),
    ]
    assert all("127.0.0.1" in vars(record)["peer"] for record in records)
    assert [record.getMessage() for record in records] == [
        "router 'stops' registered: a report every 1000 ms, lease 15000 ms",
        "router 'stops' stopped its session",
        "router None refused, INVALID_ARGUMENT: the frame carries no payload",
    ]


async def test_a_changed_state_is_one_line_and_so_is_the_end(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.registered("a")
    await bench.registered("b")
    caplog.clear()
    for state in (WorkerState.SERVING, WorkerState.SERVING, WorkerState.DRAINING):
        bench.reporter.set_worker_state(state)
    await bench.reporter.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO] == [
        "the engine's state is serving, was not told",
        "the engine's state is draining, was serving",
        "closing: 2 routers are told",
    ]


def test_a_json_line_has_the_time_the_message_and_the_records_own_fields() -> None:
    record = logging.makeLogRecord(
        {"name": "n", "levelname": "INFO", "msg": "router %r", "args": ("a",), "created": 1_750_000_000.25}
        | {"router_id": "a", "peer": "ipv4:127.0.0.1:1", "odd": object}
    )
    assert json.loads(JsonFormatter({}).format(record)) == {
        "time": "2025-06-15T15:06:40.250Z",
        "level": "info",
        "logger": "n",
        "message": "router 'a'",
        "router_id": "a",
        "peer": "ipv4:127.0.0.1:1",
        "odd": "<class 'object'>",
    }


def test_a_json_line_says_whose_it_is() -> None:
    environ = {"OTEL_SERVICE_NAME": "lm", "OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.name=p-0, k8s.node.name=a%2Cb,broken"}
    line = json.loads(JsonFormatter(environ).format(logging.makeLogRecord({"msg": "m"})))
    assert line["resource"] == {"k8s.pod.name": "p-0", "k8s.node.name": "a,b", "service.name": "lm"}


@pytest.mark.parametrize(
    ("level", "ours", "others"),
    [
        ("debug", ["debug", "info", "warning", "error"], ["warning", "error"]),
        ("info", ["info", "warning", "error"], ["warning", "error"]),
        ("warning", ["warning", "error"], ["warning", "error"]),
        ("error", ["error"], ["error"]),
    ],
)
def test_the_level_is_for_our_own_lines_and_others_tell_troubles_only(
    level: str, ours: list[str], others: list[str]
) -> None:
    program = f"""
import logging
from loadmonitor_worker.cli._logging import set_up_logging
set_up_logging("json", {level!r})
for name in ("loadmonitor_worker", "httpx"):
    for word in ("debug", "info", "warning", "error"):
        getattr(logging.getLogger(name), word)(word)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    told = [json.loads(line) for line in run.stderr.splitlines()]
    assert [line["message"] for line in told if line["logger"] == "loadmonitor_worker"] == ours
    assert [line["message"] for line in told if line["logger"] == "httpx"] == others


def test_an_exception_stays_within_its_json_line() -> None:
    try:
        int("two\nlines")
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed\nbadly", "exc_info": sys.exc_info()})
    text = JsonFormatter({}).format(record)
    assert "\n" not in text
    assert json.loads(text)["message"] == "failed\nbadly"
    assert "ValueError: invalid literal" in json.loads(text)["error"]

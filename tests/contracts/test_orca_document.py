"""docs/orca.md says what the code says, and its programs run."""

import asyncio
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import grpc.aio

from loadmonitor_worker import RankSnapshot, ReporterConfig, WorkerState
from loadmonitor_worker._orca import (
    AVOIDED_UTILIZATION,
    LEAST_UTILIZATION,
    REQUESTS_PER_SECOND,
    _Report,
    orca_report,
)
from loadmonitor_worker._orca_service import ORCA
from loadmonitor_worker._verdict import Attempt, ReportStatus, Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "orca.md").read_text()
ROWS = {
    cells[0].strip("`"): cells[1:]
    for cells in (
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")
    )
}
WAIT_SECONDS = 40


def keys(verdict: Verdict, *, state: WorkerState | None = WorkerState.SERVING) -> dict[str, int]:
    """Return what a report of one rank holds, as the page writes it, and the field's number."""
    rank = RankSnapshot(
        dp_rank=0, snapshot_time_unix_ms=1, max_running_requests=8, max_total_num_tokens=8, token_usage=0.5
    )
    report = _Report.FromString(orca_report(Attempt([rank]), verdict, sequence_id=1, worker_state=state))
    found: dict[str, int] = {}
    for field, value in report.ListFields():
        names = (
            [f'{field.name}["{key}"]'.replace("rank.0", "rank.N") for key in value]
            if field.message_type
            else [field.name]
        )
        found |= dict.fromkeys(names, field.number)
    return found


def test_the_table_has_each_field_of_a_report_with_its_number_and_no_other() -> None:
    documented = {name: int(cells[0]) for name, cells in ROWS.items() if len(cells) == 4}
    assert documented == keys(Verdict(ReportStatus.HEALTHY, None, 1))


def test_the_table_says_what_is_sent_of_an_engine_without_fresh_numbers() -> None:
    documented = {name for name, cells in ROWS.items() if len(cells) == 4 and cells[3] != "not sent"}
    assert documented == keys(Verdict(ReportStatus.STALE, "old", 1)).keys()


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert f"at least {LEAST_UTILIZATION}" in PAGE
    assert f"a floor of {LEAST_UTILIZATION}, and the rate is {REQUESTS_PER_SECOND}" in PAGE
    assert f"a utilization of\n  {AVOIDED_UTILIZATION:.0f}," in PAGE
    default = next(field.default for field in fields(ReporterConfig) if field.name == "orca_min_interval_ms")
    assert f"`orca_min_interval_ms`, by default {default:,}" in PAGE
    for state in WorkerState:
        assert (f"`{state.name}`" in PAGE) == (state is not WorkerState.SERVING)


async def test_the_pages_server_reports_to_the_pages_client() -> None:
    server_program, client_program = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(server_program, names)  # noqa: S102 - the page's program
    exec(client_program, names)  # noqa: S102
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    serving = asyncio.create_task(names["serve"](server))
    try:
        async with asyncio.timeout(WAIT_SECONDS), names["connect"](f"ipv4:127.0.0.1:{port}") as channel:
            call = channel.unary_stream(f"/{ORCA}/StreamCoreMetrics")(b"", wait_for_ready=True)
            assert _Report.FromString(await call.read()).application_utilization >= LEAST_UTILIZATION
    finally:
        await server.stop(None)
        await serving

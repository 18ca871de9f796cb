"""The conformance kit against the Worker of this project, in every configuration that shows a clause."""

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from loadmonitor_router.conformance import CHECKS, ClauseResult, Outcome, check_worker
from loadmonitor_worker import ReporterConfig, start_load_reporter
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.testing import rank

SCRIPTS = Path(sys.executable).parent
CLAUSES = [check.clause for check in CHECKS]
HIDDEN = {"END-3", "REPORT-8", "STATE-2", "STATE-3", "STATE-4"}
START_SECONDS = 40


@dataclass(frozen=True)
class Engine:
    """A source whose ranks are all so many milliseconds old, or bear no date, or can't be read."""

    age_ms: int | None = 0
    capacity: int = 100_000
    is_gone: bool = False
    tells_tokens: bool = True

    def expected_dp_ranks(self) -> frozenset[int]:
        return frozenset({0, 1})

    async def get_loads(self) -> Sequence[RankSnapshot]:
        if self.is_gone:
            raise ConnectionError("the engine is gone")
        stamp = None if self.age_ms is None else time.time_ns() // 1_000_000 - self.age_ms
        ranks = [rank(dp_rank, at=stamp) for dp_rank in (1, 0)]
        used = 0 if self.tells_tokens else None
        return [replace(item, max_total_num_tokens=self.capacity, num_used_tokens=used) for item in ranks]


@dataclass(frozen=True)
class Case:
    """A configured Worker, and the clauses that can't be seen there."""

    config: ReporterConfig
    engine: Engine = Engine()
    hidden: frozenset[str] = frozenset()


CASES = {
    "by default": Case(ReporterConfig(port=0), hidden=frozenset({"REPORT-4"})),
    "with shared deadlines": Case(ReporterConfig(port=0, alignment="epoch"), hidden=frozenset({"REPORT-4"})),
    "for three slow routers": Case(
        ReporterConfig(port=0, max_sessions=3, max_frames_per_second=100, min_report_interval_ms=30, max_lease_ttl_ms=61_000),
        hidden=frozenset({"REPORT-4"}),
    ),
    "beside an engine that stands still": Case(ReporterConfig(port=0), Engine(age_ms=60_000)),
    "beside an engine that dates nothing": Case(ReporterConfig(port=0), Engine(age_ms=None)),
    "beside an engine that starts": Case(ReporterConfig(port=0), Engine(capacity=0)),
    "beside an engine that is gone": Case(
        ReporterConfig(port=0), Engine(is_gone=True), hidden=frozenset({"REPORT-4", "REPORT-7"})
    ),
    "beside an engine that doesn't tell its tokens": Case(
        ReporterConfig(port=0), Engine(tells_tokens=False), hidden=frozenset({"REPORT-4"})
    ),
}  # fmt: skip


async def judged(case: Case, clauses: Sequence[str]) -> dict[str, ClauseResult]:
    reporter = await start_load_reporter(case.config, case.engine)
    assert reporter is not None
    async with reporter:
        results = check_worker(reporter.address, clauses, timeout_seconds=20, shut_down=reporter.close)
        return {result.clause: result async for result in results}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict[str, ClauseResult]]:
    """All at once, and the clauses of each in three shares, because checks spend their time waiting."""
    shares = [CLAUSES[start::3] for start in range(3)]

    async def judge_all() -> list[dict[str, ClauseResult]]:
        return await asyncio.gather(*(judged(case, share) for case in CASES.values() for share in shares))

    found = asyncio.run(judge_all())
    return {name: {**found[3 * i], **found[3 * i + 1], **found[3 * i + 2]} for i, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_worker_of_this_project_keeps_every_clause(name: str, verdicts: dict[str, dict[str, ClauseResult]]) -> None:
    results = verdicts[name]
    assert set(results) == set(CLAUSES)
    hidden = {clause for clause, result in results.items() if result.outcome is Outcome.NOT_TESTABLE}
    # Where the engine is read in no time, two sessions may never be due together.
    assert hidden - {"REPORT-1"} == CASES[name].hidden | HIDDEN
    others = {clause: result for clause, result in results.items() if result.outcome is not Outcome.PASSED}
    # A machine that is too slow to send frames faster than 1,000 a second meets no limit of theirs.
    assert {clause for clause in others if clause not in hidden} <= {"OPEN-6", "REPORT-7", "STATE-1"}, others
    assert all(result.outcome is not Outcome.FAILED for result in others.values()), others


def test_every_clause_about_workers_is_passed_somewhere(verdicts: dict[str, dict[str, ClauseResult]]) -> None:
    passed = {
        clause
        for results in verdicts.values()
        for clause, result in results.items()
        if result.outcome is Outcome.PASSED
    }
    assert passed == set(CLAUSES) - HIDDEN - {"STATE-1"}
    assert "for session 4 and after" in verdicts["for three slow routers"]["OPEN-6"].received


async def test_the_command_judges_a_sidecar_and_has_it_shut_down() -> None:
    sidecar = await asyncio.create_subprocess_exec(
        str(SCRIPTS / "loadmonitor-worker"),
        "serve",
        "--source",
        "synthetic",
        "--dp-size",
        "8",
        "--listen",
        "127.0.0.1:0",
        stdout=PIPE,
    )
    assert sidecar.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            address = (await sidecar.stdout.readline()).decode().removeprefix("listening on ").strip()
            clauses = [argument for clause in ("OPEN-4", "REPORT-3", "END-2") for argument in ("--clause", clause)]
            stop = ("--shut-down", f"kill -TERM {sidecar.pid}", "--frame-timeout-seconds", "20", "--json")
            command = (str(SCRIPTS / "loadmonitor"), "conformance", address, *clauses, *stop)
            kit = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
            out, err = await kit.communicate()
            assert await sidecar.wait() == 0
    finally:
        if sidecar.returncode is None:
            sidecar.kill()
            await sidecar.wait()
    lines = [json.loads(line) for line in out.decode().splitlines()]
    assert [(line["clause"], line["outcome"]) for line in lines] == [
        ("OPEN-4", "passed"),
        ("REPORT-3", "passed"),
        ("END-2", "passed"),
    ]
    assert (kit.returncode, err) == (0, b"")

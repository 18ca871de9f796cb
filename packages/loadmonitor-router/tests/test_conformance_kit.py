"""The conformance kit against Workers that keep every clause they offer."""

import asyncio
from collections.abc import Callable

import pytest
from model_worker import (
    AlignedWorker,
    FirstVersionWorker,
    ModelWorker,
    SmallWorker,
    StaleWorker,
    UnreachableWorker,
    judged,
)

from loadmonitor_router import ConfigError, NoReporterError
from loadmonitor_router.conformance import CHECKS, ClauseResult, Outcome, check_worker
from loadmonitor_router.testing import ScriptedWorker

CLAUSES = [check.clause for check in CHECKS]
EXTENSIONS = {"OPEN-4", "OPEN-5", "OPEN-6", "REPORT-4", "REPORT-5", "REPORT-7", "ACK-1", "ACK-2", "ACK-3", "END-4"}
STATES = {"STATE-1", "STATE-2", "STATE-3", "STATE-4"}
ROUTERS_ONLY = {"END-3"}
HIDDEN = ROUTERS_ONLY | {"REPORT-8"} | STATES - {"STATE-1"}

# What isn't passed, by the Worker that was asked.
CONFORMING: dict[Callable[[], ModelWorker], dict[Outcome, set[str]]] = {
    ModelWorker: {Outcome.NOT_TESTABLE: {"REPORT-4"} | HIDDEN},
    AlignedWorker: {Outcome.NOT_TESTABLE: {"REPORT-4"} | HIDDEN},
    StaleWorker: {Outcome.NOT_TESTABLE: HIDDEN},
    UnreachableWorker: {Outcome.NOT_TESTABLE: {"REPORT-4", "REPORT-7"} | HIDDEN},
    SmallWorker: {Outcome.NOT_TESTABLE: {"REPORT-4", "REPORT-6"} | HIDDEN},
    FirstVersionWorker: {Outcome.NOT_OFFERED: EXTENSIONS | STATES | {"REPORT-8"}, Outcome.NOT_TESTABLE: ROUTERS_ONLY},
}
Verdicts = dict[Callable[[], ModelWorker], dict[str, ClauseResult]]


@pytest.fixture(scope="module")
def verdicts() -> Verdicts:
    """All at once, and the clauses of each in three shares, because checks spend their time waiting."""
    shares = [CLAUSES[start::3] for start in range(3)]

    async def judge_all() -> list[dict[str, ClauseResult]]:
        return await asyncio.gather(*(judged(make(), *share) for make in CONFORMING for share in shares))

    found = asyncio.run(judge_all())
    return {make: {**found[3 * i], **found[3 * i + 1], **found[3 * i + 2]} for i, make in enumerate(CONFORMING)}


@pytest.mark.parametrize("make", CONFORMING, ids=lambda make: make.__name__)
def test_a_worker_that_keeps_the_contract_fails_nowhere(make: Callable[[], ModelWorker], verdicts: Verdicts) -> None:
    results = verdicts[make]
    assert set(results) == set(CLAUSES)
    others = {clause: result for clause, result in results.items() if result.outcome is not Outcome.PASSED}
    found = {outcome: {clause for clause, result in others.items() if result.outcome is outcome} for outcome in Outcome}
    assert {outcome: clauses for outcome, clauses in found.items() if clauses} == CONFORMING[make], others


def test_every_clause_about_workers_can_be_passed(verdicts: Verdicts) -> None:
    passed = {
        clause
        for results in verdicts.values()
        for clause, result in results.items()
        if result.outcome is Outcome.PASSED
    }
    assert passed == set(CLAUSES) - HIDDEN


async def test_results_come_in_the_order_of_the_contract_but_the_end_of_the_worker_comes_last() -> None:
    results = await judged(ModelWorker(), "END-2", "END-4", "OPEN-1")
    assert list(results) == ["OPEN-1", "END-4", "END-2"]


async def test_deadlines_that_all_sessions_share_are_recognised() -> None:
    class HalfASecondOff(ModelWorker):
        shared: float | None = None

        def anchor(self, now: float) -> float:
            self.shared = now - 0.5 if self.shared is None else self.shared
            return self.shared

    results = await judged(HalfASecondOff(), "CHANGE-3")
    assert results["CHANGE-3"].received == "deadlines that all sessions share"
    assert results["CHANGE-3"].outcome is Outcome.PASSED


async def test_a_worker_that_refuses_every_register_is_judged_by_what_is_left() -> None:
    class Refusing(ModelWorker):
        most_sessions = 0

    results = await judged(Refusing(), "OPEN-1", "OPEN-2", "OPEN-3", "LEASE-2")
    assert [result.outcome for result in results.values()] == [
        Outcome.PASSED,
        Outcome.PASSED,
        Outcome.FAILED,
        Outcome.NOT_TESTABLE,
    ]
    assert "RESOURCE_EXHAUSTED" in results["LEASE-2"].received


async def test_a_server_without_the_service_is_no_worker() -> None:
    async with ScriptedWorker(has_service=False) as server:
        with pytest.raises(NoReporterError, match="without a load reporter"):
            await anext(check_worker(server.address))


async def test_nobody_at_the_address_is_an_error_and_no_verdict() -> None:
    async with ScriptedWorker() as server:
        address = server.address
    with pytest.raises(NoReporterError, match=r"no connection within 0\.5 s: .*Connection refused"):
        await anext(check_worker(address, timeout_seconds=0.5))


@pytest.mark.parametrize("clause", ["OPEN-8", "open-1", ""])
async def test_a_clause_that_there_isnt_is_named_with_those_that_there_are(clause: str) -> None:
    with pytest.raises(ConfigError, match=rf"clause '{clause}' is not in the contract: allowed are OPEN-1, "):
        await anext(check_worker("127.0.0.1:1", [clause]))

"""The conformance kit against Workers that break one clause each: every one is found guilty of that clause."""

import asyncio

import pytest
from broken_workers import FAULTS, Fault
from model_worker import judged

from loadmonitor_router.conformance import CHECKS, ClauseResult, Outcome

SILENCE_SECONDS = 2.0
"""How long a broken Worker is waited for: a time-out only adds to what it is found guilty of."""
NOT_BREAKABLE = {"END-3", "REPORT-8", "STATE-2", "STATE-3", "STATE-4"}
"""Clauses about Routers, and about what none can bring about."""


async def judge_all() -> list[dict[str, ClauseResult]]:
    """A dozen at once, because checks spend their time waiting."""
    turn = asyncio.Semaphore(12)

    async def judge(fault: Fault) -> dict[str, ClauseResult]:
        async with turn:
            return await judged(fault.make(), fault.clause, timeout_seconds=SILENCE_SECONDS)

    return await asyncio.gather(*map(judge, FAULTS))


@pytest.fixture(scope="module")
def verdicts() -> dict[str, ClauseResult]:
    found = asyncio.run(judge_all())
    return {fault.name: results[fault.clause] for fault, results in zip(FAULTS, found, strict=True)}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.clause}: {fault.name}")
def test_a_worker_that_breaks_a_clause_fails_at_that_clause(fault: Fault, verdicts: dict[str, ClauseResult]) -> None:
    result = verdicts[fault.name]
    assert result.outcome is Outcome.FAILED, result
    assert result.received
    assert result.expected


def test_every_clause_about_workers_has_a_worker_that_breaks_it() -> None:
    assert {fault.clause for fault in FAULTS} == {check.clause for check in CHECKS} - NOT_BREAKABLE


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_a_broken_worker_fails_at_few_other_clauses() -> None:
    """A fault shows at the clauses that need what is broken; the rest of the contract isn't drawn into it."""
    results = await asyncio.gather(*(judged(fault.make(), timeout_seconds=SILENCE_SECONDS) for fault in FAULTS[::4]))
    for fault, found in zip(FAULTS[::4], results, strict=True):
        failed = {clause for clause, result in found.items() if result.outcome is Outcome.FAILED}
        assert fault.clause in failed
        assert len(failed) <= 5, (fault.name, failed)

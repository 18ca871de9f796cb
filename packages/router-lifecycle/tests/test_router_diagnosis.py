"""What was left behind at a router, found in its list and its records."""

import pytest

from router_lifecycle.diagnosis import Finding, diagnose
from router_lifecycle.dialects import SmgDialect, UrlDialect
from router_lifecycle.models import JobStatus, WorkerRow, group_rows
from router_lifecycle.observation import Observation, RecordState

ROUTER = "http://router:30000"
URL = "http://10.0.0.1:30000"


def found(*rows: WorkerRow, job: JobStatus | None = None, removed: frozenset[str] = frozenset()) -> list[Finding]:
    """What is found where the router lists some rows and has a record of a job on URL."""
    record = WorkerRow(url=URL, job_status=job)
    seen = Observation(seen_at_unix_seconds=0.0, record_state=RecordState.PRESENT, record=record, rows=rows)
    dialect = SmgDialect() if any(row.status for row in rows) else UrlDialect()
    return diagnose(dialect, group_rows(ROUTER, rows), {URL: seen}, removed=removed)


def job(kind: str, status: str, message: str | None = None) -> JobStatus:
    return JobStatus(job_type=kind, status=status, worker_url=URL, message=message)


def test_a_healthy_worker_without_a_job_leaves_nothing_to_say() -> None:
    assert found(WorkerRow(url=URL, is_healthy=True)) == []
    assert found(WorkerRow(url=URL, is_healthy=True, status="ready")) == []


def test_a_failed_registration_of_a_listed_worker_is_told_apart_from_one_that_left_nothing() -> None:
    failed = job("AddWorker", "failed", "timed out")
    [listed] = found(WorkerRow(url=URL, is_healthy=True), job=failed)
    [gone] = found(job=failed)
    assert (listed.kind, gone.kind) == ("failed job", "failed job")
    assert listed.seen == "AddWorker failed: timed out"
    assert "an entry that is healthy serves all the same" in listed.advice
    assert gone.advice == "mend the cause and register it again"


def test_a_failed_removal_is_to_be_done_again() -> None:
    [finding] = found(WorkerRow(url=URL, is_healthy=True), job=job("RemoveWorker", "failed"))
    assert (finding.kind, finding.advice) == ("failed job", "do it again")


@pytest.mark.parametrize("status", ["pending", "processing", "a newer word"])
def test_a_registration_that_runs_for_a_worker_that_is_not_listed_may_become_a_ghost(status: str) -> None:
    [finding] = found(job=job("AddWorker", status))
    assert finding.kind == "ghost"
    assert "it may become routable at any moment" in finding.seen


def test_a_job_that_runs_on_a_listed_worker_is_open() -> None:
    [finding] = found(WorkerRow(url=URL, is_healthy=True), job=job("RemoveWorker", "processing"))
    assert (finding.kind, finding.seen) == ("open job", "RemoveWorker processing")


@pytest.mark.parametrize(
    ("row", "seen"),
    [
        (WorkerRow(url=URL, id="7", is_healthy=False), "not healthy (id 7): gets no requests"),
        (WorkerRow(url=URL), "health unknown (id -): gets no requests"),
        (WorkerRow(url=URL, is_healthy=True, status="draining"), "status draining (id -): gets no requests"),
    ],
)
def test_an_entry_without_traffic_is_named_with_its_state(row: WorkerRow, seen: str) -> None:
    [finding] = found(row)
    assert (finding.kind, finding.seen) == ("not routable", seen)


def test_missing_ranks_are_named() -> None:
    rows = [WorkerRow(url=f"{URL}@{rank}", is_healthy=True, dp_size=4) for rank in (0, 2)]
    [finding] = found(*rows)
    assert (finding.kind, finding.worker_url) == ("missing ranks", URL)
    assert finding.seen == "ranks 0, 2 are listed, fewer than it has"


def test_several_spellings_of_one_origin_are_one_finding_with_the_ids_to_delete() -> None:
    [finding] = found(WorkerRow(url=URL, id="1", is_healthy=True), WorkerRow(url=f"{URL}/", id="2", is_healthy=True))
    assert finding.kind == "spellings"
    assert f"1 ({URL}), 2 ({URL}/)" in finding.advice


def test_what_is_listed_though_it_was_removed_is_a_ghost() -> None:
    [finding] = found(WorkerRow(url=URL, is_healthy=True), removed=frozenset({URL}))
    assert (finding.kind, finding.seen) == ("ghost", "listed, though it was removed")


def test_what_could_not_be_read_is_said() -> None:
    seen = Observation(seen_at_unix_seconds=0.0, faults=("the list was answered with 503",))
    [finding] = diagnose(UrlDialect(), [], {URL: seen})
    assert (finding.kind, finding.seen) == ("unread", "the list was answered with 503")

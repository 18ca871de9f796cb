"""The registration state machine alone: what a look shows, and where it leads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_bench import OTHER, URL, UUID, job, row, seen

from router_lifecycle import JobStatus, Observation, WorkerRow
from router_lifecycle._machine_register import (
    REGISTER_TABLE,
    RegisterFacts,
    RegisterMachine,
    RegisterSign,
    RegisterState,
    register_sign,
)
from router_lifecycle.dialects import Dialect, SmgDialect, SyncDialect, UrlDialect, UuidDialect

HORIZON = 1830.0
OPEN = [state for state in RegisterState if not state.is_end]


def facts(
    dialect: Dialect | None = None,
    *,
    listed_before: bool = False,
    job_before: JobStatus | None = None,
    row_seen: bool = False,
    age_seconds: float | None = 10.0,
    worker_id: str | None = UUID,
) -> RegisterFacts:
    return RegisterFacts(
        url=URL,
        dialect=dialect or UuidDialect(),
        listed_before=listed_before,
        job_before=job_before,
        row_seen=row_seen,
        age_seconds=age_seconds,
        horizon_seconds=HORIZON,
        worker_id=worker_id,
    )


def known(status: str, kind: str = "AddWorker") -> dict[str, object]:
    return row(healthy=False, job_status=job(kind, status))


RANK = f"{URL}@0"


@pytest.mark.parametrize(
    ("look", "sign"),
    [
        (seen(row(), row()), RegisterSign.ROUTABLE),
        (seen(None, row()), RegisterSign.ROUTABLE),
        (seen(row(job_status=job(status="processing")), row()), RegisterSign.ROUTABLE_JOB_OPEN),
        (seen(row(job_status=job(status="queued")), row()), RegisterSign.ROUTABLE_JOB_OPEN),
        (seen(row(job_status=job(status="failed")), row()), RegisterSign.ROUTABLE_JOB_FAILED),
        (seen(row(job_status=job("RemoveWorker", "failed")), row()), RegisterSign.ROUTABLE),
        (seen(None, row(RANK)), RegisterSign.RANKS_ROUTABLE),
        (seen(None, row(RANK, metadata={"dp_size": "1"})), RegisterSign.ROUTABLE),
        (seen(None, row(RANK, metadata={"dp_size": "2"})), RegisterSign.UNHEALTHY),
        (seen(None, row(RANK, dp_size=2)), RegisterSign.UNHEALTHY),
        (seen(row(healthy=False), row(healthy=False)), RegisterSign.UNHEALTHY),
        (seen(row(), row(status="pending")), RegisterSign.UNHEALTHY),
        (seen(row(), row(status="not_ready")), RegisterSign.UNHEALTHY),
        (seen(row(), row(status="a_new_word")), RegisterSign.UNHEALTHY),
        (seen(row(), row(status="ready")), RegisterSign.ROUTABLE),
        (seen(row(), row(status="failed", healthy=False)), RegisterSign.FAILED),
        (seen(row(), {"url": URL, "id": UUID}), RegisterSign.UNHEALTHY),
        (seen(known("failed"), row(healthy=False)), RegisterSign.FAILED),
        (seen(known("failed")), RegisterSign.FAILED),
        (seen(known("pending")), RegisterSign.PENDING),
        (seen(known("processing")), RegisterSign.PENDING),
        (seen(known("queued")), RegisterSign.PENDING),
        (seen(known("failed", "UpdateWorker")), RegisterSign.PENDING),
        (seen(known("failed", "RemoveWorker")), RegisterSign.PENDING),
        (seen(known("processing", "RemoveWorker")), RegisterSign.REMOVAL),
        (seen(row(), row(status="draining", healthy=False)), RegisterSign.REMOVAL),
        (seen(known("processing"), listed=False), RegisterSign.PENDING),
        (seen(known("failed"), listed=False), RegisterSign.UNREADABLE),
        (seen(None, listed=False), RegisterSign.UNREADABLE),
        (seen(row(OTHER)), RegisterSign.FOREIGN),
        (seen(row(worker_id="other")), RegisterSign.FOREIGN),
        (seen(None, row(), row(worker_id="other")), RegisterSign.FOREIGN),
        (seen(None), RegisterSign.VANISHED),
    ],
)
def test_a_look_is_read_as_what_it_shows(look: Observation, sign: RegisterSign) -> None:
    assert register_sign(look, facts()) is sign


@pytest.mark.parametrize(
    ("known_of", "sign"),
    [
        (facts(UrlDialect()), RegisterSign.VANISHED),
        (facts(UuidDialect()), RegisterSign.VANISHED),
        (facts(UuidDialect(), age_seconds=300.0), RegisterSign.UNTRACED),
        (facts(UrlDialect(), age_seconds=300.0), RegisterSign.UNTRACED),
        (facts(UuidDialect(), age_seconds=None), RegisterSign.UNTRACED),
        (facts(UuidDialect(), age_seconds=300.0, row_seen=True), RegisterSign.VANISHED),
        (facts(UuidDialect(), age_seconds=HORIZON), RegisterSign.VANISHED),
        (facts(SmgDialect()), RegisterSign.ENDED_SILENTLY),
        (facts(SmgDialect(), age_seconds=540.0), RegisterSign.ENDED_SILENTLY),
        (facts(SmgDialect(), row_seen=True), RegisterSign.VANISHED),
        (facts(SyncDialect(), worker_id=URL), RegisterSign.VANISHED),
    ],
)
def test_nothing_to_be_seen_means_what_the_router_and_the_age_make_of_it(
    known_of: RegisterFacts, sign: RegisterSign
) -> None:
    assert register_sign(seen(None), known_of) is sign


@pytest.mark.parametrize("dialect", [UuidDialect(), SmgDialect(), SyncDialect()])
def test_where_no_id_was_told_nothing_to_be_seen_means_nothing_until_the_router_must_have_given_up(
    dialect: Dialect,
) -> None:
    unasked = Observation(seen_at_unix_seconds=0.0, rows=())
    assert register_sign(unasked, facts(dialect, worker_id=None)) is RegisterSign.UNTRACED
    assert register_sign(unasked, facts(dialect, worker_id=None, age_seconds=HORIZON)) is RegisterSign.VANISHED
    assert register_sign(unasked, facts(dialect, worker_id=None, row_seen=True)) is RegisterSign.VANISHED


def test_a_record_from_before_the_submission_says_nothing_of_it() -> None:
    old = JobStatus.model_validate(job(status="failed"))
    assert register_sign(seen(known("failed")), facts(job_before=old)) is RegisterSign.PENDING
    removal = JobStatus.model_validate(job("RemoveWorker"))
    assert register_sign(seen(known("processing", "RemoveWorker")), facts(job_before=removal)) is RegisterSign.PENDING


def test_a_record_that_could_not_be_read_counts_only_where_the_url_was_listed_before() -> None:
    look = Observation(
        seen_at_unix_seconds=0.0, rows=(WorkerRow.model_validate(row()),), faults=("GET: connection reset",)
    )
    assert register_sign(look, facts()) is RegisterSign.ROUTABLE
    assert register_sign(look, facts(listed_before=True)) is RegisterSign.UNREADABLE


def test_on_a_router_that_lists_urls_only_being_listed_is_being_routable() -> None:
    look = Observation(seen_at_unix_seconds=0.0, rows=(WorkerRow(url=URL, id=URL),))
    assert register_sign(look, facts(SyncDialect(), worker_id=URL)) is RegisterSign.ROUTABLE


def test_the_table_leads_on_from_every_open_state_and_from_no_end() -> None:
    assert {state for state, _ in REGISTER_TABLE} == set(OPEN)
    assert {step.to for step in REGISTER_TABLE.values()} >= {state for state in RegisterState if state.is_end}


def test_only_a_routable_look_leads_to_active() -> None:
    to_active = {sign for (_, sign), step in REGISTER_TABLE.items() if step.to is RegisterState.ACTIVE}
    assert to_active == {
        RegisterSign.ROUTABLE,
        RegisterSign.RANKS_ROUTABLE,
        RegisterSign.ROUTABLE_JOB_OPEN,
        RegisterSign.ROUTABLE_JOB_FAILED,
    }
    again = {
        sign
        for (state, sign), step in REGISTER_TABLE.items()
        if step.to is RegisterState.ACTIVE and state is RegisterState.AWAITED_AGAIN
    }
    assert again == {RegisterSign.ROUTABLE, RegisterSign.RANKS_ROUTABLE}


def test_a_failure_that_was_seen_is_not_forgotten_when_its_record_is_wiped() -> None:
    machine = RegisterMachine(RegisterState.AWAITED_AGAIN)
    assert machine.see(RegisterSign.ROUTABLE_JOB_FAILED, 0.0) is RegisterState.DOUBTED
    assert machine.see(RegisterSign.ROUTABLE, 1.0) is RegisterState.DOUBTED
    assert machine.see(RegisterSign.ROUTABLE, 3.5) is RegisterState.FAILED


def test_absence_counts_after_three_looks_and_five_seconds_in_a_row() -> None:
    machine = RegisterMachine(RegisterState.AWAITED)
    assert machine.see(RegisterSign.VANISHED, 0.0) is RegisterState.AWAITED
    assert machine.see(RegisterSign.VANISHED, 6.0) is RegisterState.AWAITED
    assert machine.see(RegisterSign.PENDING, 7.0) is RegisterState.AWAITED
    for at in (8.0, 9.0, 12.9):
        assert machine.see(RegisterSign.VANISHED, at) is RegisterState.AWAITED
    assert machine.see(RegisterSign.UNREADABLE, 12.95) is RegisterState.AWAITED
    assert machine.see(RegisterSign.VANISHED, 13.0) is RegisterState.LOST


def test_a_failed_record_that_vanishes_at_once_is_no_failure() -> None:
    machine = RegisterMachine(RegisterState.AWAITED)
    assert machine.see(RegisterSign.FAILED, 0.0) is RegisterState.AWAITED
    assert machine.see(RegisterSign.PENDING, 0.2) is RegisterState.AWAITED
    assert machine.see(RegisterSign.FAILED, 3.0) is RegisterState.AWAITED
    assert machine.see(RegisterSign.FAILED, 5.0) is RegisterState.FAILED


@given(
    start=st.sampled_from(OPEN),
    signs=st.lists(st.tuples(st.sampled_from(RegisterSign), st.floats(0.0, 10.0)), max_size=30),
)
def test_whatever_is_seen_the_end_follows_from_the_last_sign(
    start: RegisterState, signs: list[tuple[RegisterSign, float]]
) -> None:
    machine, now = RegisterMachine(start), 0.0
    for sign, later in signs:
        now += later
        before = machine.state
        after = machine.see(sign, now)
        if after is not before:
            assert REGISTER_TABLE[before, sign].to is after
        if after.is_end:
            assert machine.see(RegisterSign.ROUTABLE, now) is after
            return

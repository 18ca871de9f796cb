"""The removal state machine alone: what a look shows, when a DELETE is due, and when the worker is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_bench import OTHER, URL, UUID, answer, job, row, seen

from router_lifecycle import JobStatus, Observation
from router_lifecycle._machine_remove import (
    REMOVE_TABLE,
    RemoveFacts,
    RemoveMachine,
    RemoveSign,
    RemoveState,
    removal_answer,
    remove_sign,
)
from router_lifecycle.dialects import Dialect, SmgDialect, UrlDialect, UuidDialect

HORIZON = 1830.0
WAITING = [state for state in RemoveState if not state.is_end and state is not RemoveState.ASKING]


def facts(
    dialect: Dialect | None = None,
    *,
    pending: bool = False,
    unlisted_before: bool = False,
    age_seconds: float | None = 10.0,
    job_before: JobStatus | None = None,
    asked_seconds_ago: float | None = None,
    worker_id: str | None = UUID,
) -> RemoveFacts:
    return RemoveFacts(
        url=URL,
        dialect=dialect or UuidDialect(),
        worker_id=worker_id,
        may_be_pending=pending,
        unlisted_before=unlisted_before,
        age_seconds=age_seconds,
        horizon_seconds=HORIZON,
        job_before=job_before,
        asked_seconds_ago=asked_seconds_ago,
    )


def known(kind: str, status: str, message: str | None = None) -> dict[str, object]:
    return row(healthy=False, job_status=job(kind, status, message))


DRAINING = row(status="draining", healthy=False)


@pytest.mark.parametrize(
    ("look", "known_of", "sign"),
    [
        (seen(row(), row()), facts(), RemoveSign.LISTED),
        (seen(row(healthy=False), row(healthy=False)), facts(), RemoveSign.LISTED),
        (seen(known("RemoveWorker", "processing"), row()), facts(), RemoveSign.REMOVING),
        (seen(known("RemoveWorker", "pending"), row()), facts(), RemoveSign.REMOVING),
        (seen(known("RemoveWorker", "processing")), facts(), RemoveSign.REMOVING),
        (seen(known("RemoveWorker", "failed", "no"), row()), facts(), RemoveSign.REFUSED),
        (seen(known("RemoveWorker", "failed", "x not found"), row()), facts(), RemoveSign.REFUSED),
        (seen(known("RemoveWorker", "failed", "x not found"), row()), facts(pending=True), RemoveSign.RETURNED),
        (seen(known("RemoveWorker", "failed", "x not found"), row()), facts(unlisted_before=True), RemoveSign.RETURNED),
        (seen(DRAINING, DRAINING), facts(), RemoveSign.DRAINING),
        (seen(None, DRAINING, row(f"{URL}@1", worker_id="r1")), facts(), RemoveSign.LISTED),
        (seen(known("AddWorker", "processing")), facts(), RemoveSign.ADDING),
        (seen({**known("RemoveWorker", "failed", "x not found"), "status": "pending"}), facts(), RemoveSign.ADDING),
        (seen(known("RemoveWorker", "failed", "x not found")), facts(), RemoveSign.ABSENT),
        (seen(known("RemoveWorker", "failed", "x not found")), facts(pending=True), RemoveSign.UNTRACED),
        (seen(known("AddWorker", "failed")), facts(pending=True), RemoveSign.ABSENT),
        (seen(None), facts(), RemoveSign.ABSENT),
        (seen(None), facts(pending=True), RemoveSign.QUIET),
        (seen(None), facts(UrlDialect(), pending=True), RemoveSign.QUIET),
        (seen(None), facts(pending=True, asked_seconds_ago=1.0), RemoveSign.UNTRACED),
        (seen(None), facts(pending=True, age_seconds=300.0), RemoveSign.UNTRACED),
        (seen(None), facts(pending=True, age_seconds=None), RemoveSign.UNTRACED),
        (seen(None), facts(pending=True, age_seconds=HORIZON), RemoveSign.ABSENT),
        (seen(None), facts(SmgDialect(), pending=True, age_seconds=500.0), RemoveSign.QUIET),
        (seen(None), facts(SmgDialect(), pending=True, asked_seconds_ago=60.0), RemoveSign.QUIET),
        (seen(None), facts(SmgDialect(), pending=True, asked_seconds_ago=300.0), RemoveSign.UNTRACED),
        (seen(None, listed=False), facts(), RemoveSign.UNREADABLE),
        (seen(known("RemoveWorker", "processing"), listed=False), facts(), RemoveSign.REMOVING),
        (seen(known("RemoveWorker", "failed"), listed=False), facts(), RemoveSign.UNREADABLE),
        (seen(row(OTHER)), facts(), RemoveSign.FOREIGN),
        (seen(None, row(), row(worker_id="other")), facts(), RemoveSign.FOREIGN),
    ],
)
def test_a_look_is_read_as_what_it_shows(look: Observation, known_of: RemoveFacts, sign: RemoveSign) -> None:
    assert remove_sign(look, known_of) is sign


def test_a_failed_removal_from_before_is_no_refusal_of_this_one() -> None:
    old = known("RemoveWorker", "failed", "no")
    before = JobStatus.model_validate(job("RemoveWorker", "failed", "no"))
    assert remove_sign(seen(old, row()), facts(job_before=before)) is RemoveSign.LISTED


def test_what_could_not_be_asked_for_is_neither_there_nor_gone() -> None:
    unread = Observation(seen_at_unix_seconds=0.0, rows=(), faults=("GET: connection reset",))
    assert remove_sign(unread, facts()) is RemoveSign.UNREADABLE
    assert remove_sign(unread, facts(worker_id=None)) is RemoveSign.ABSENT
    assert remove_sign(unread, facts(worker_id=None, pending=True)) is RemoveSign.UNTRACED


def test_a_delete_is_due_only_after_a_look_and_never_while_the_router_is_at_it() -> None:
    due = {(state, sign) for (state, sign), step in REMOVE_TABLE.items() if step.to is RemoveState.ASKING}
    assert {sign for state, sign in due if state is not RemoveState.INTENDED} == {
        RemoveSign.LISTED,
        RemoveSign.RETURNED,
    }
    at_it = {RemoveSign.DRAINING, RemoveSign.REMOVING, RemoveSign.UNREADABLE}
    assert not [pair for pair in REMOVE_TABLE if pair[1] in at_it]


def test_gone_is_only_what_is_not_listed() -> None:
    gone = {sign for (_, sign), step in REMOVE_TABLE.items() if step.to is RemoveState.GONE}
    assert gone == {RemoveSign.ABSENT, RemoveSign.QUIET}


@pytest.mark.parametrize("sign", [RemoveSign.LISTED, RemoveSign.RETURNED])
@pytest.mark.parametrize("state", [RemoveState.ACCEPTED, RemoveState.UNCERTAIN, RemoveState.UNKNOWN_ID])
def test_one_look_is_not_enough_to_ask_again(state: RemoveState, sign: RemoveSign) -> None:
    machine = RemoveMachine(state)
    assert machine.see(sign, 0.0) is state
    assert machine.see(sign, 1.0) is state
    assert machine.see(sign, 11.0) is RemoveState.ASKING


def test_looks_are_counted_anew_after_an_answer() -> None:
    machine = RemoveMachine(RemoveState.UNCERTAIN)
    machine.see(RemoveSign.LISTED, 0.0)
    machine.put(RemoveState.UNCERTAIN)
    assert machine.see(RemoveSign.LISTED, 100.0) is RemoveState.UNCERTAIN


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (202, RemoveState.ACCEPTED),
        (200, RemoveState.ACCEPTED),
        (204, RemoveState.ACCEPTED),
        (404, RemoveState.UNKNOWN_ID),
        (400, RemoveState.FAILED),
        (405, RemoveState.FAILED),
        (409, RemoveState.FAILED),
        (408, RemoveState.UNCERTAIN),
        (425, RemoveState.UNCERTAIN),
        (429, RemoveState.UNCERTAIN),
        (500, RemoveState.UNCERTAIN),
        (503, RemoveState.UNCERTAIN),
        (302, RemoveState.UNCERTAIN),
    ],
)
def test_the_answer_to_a_delete_leads_where_its_status_says(status: int, state: RemoveState) -> None:
    assert removal_answer(answer(status, "anything")) is state


@given(
    start=st.sampled_from(WAITING),
    signs=st.lists(st.tuples(st.sampled_from(RemoveSign), st.floats(0.0, 20.0)), max_size=30),
)
def test_whatever_is_seen_a_step_follows_from_the_last_sign(
    start: RemoveState, signs: list[tuple[RemoveSign, float]]
) -> None:
    machine, now = RemoveMachine(start), 0.0
    for sign, later in signs:
        now += later
        before = machine.state
        after = machine.see(sign, now)
        if after is not before:
            assert REMOVE_TABLE[before, sign].to is after
        if after is RemoveState.ASKING:
            machine.put(RemoveState.UNCERTAIN)
        if after.is_end:
            assert machine.see(RemoveSign.LISTED, now) is after
            return

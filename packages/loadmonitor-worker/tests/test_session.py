"""The pure state of one stream: slot, credit, lease and phase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker._session import LEASE_GRACE_NS, Session

MS = 1_000_000


def opened(*, interval_ms: int = 100, lease_ms: int = 1_000, max_unacked: int | None = None) -> Session:
    session = Session(on_ready=lambda: None)
    session.open(
        "r", interval_ns=interval_ms * MS, lease_ns=lease_ms * MS, max_unacked=max_unacked, anchor_ns=0, now_ns=0
    )
    return session


@pytest.mark.clause("REPORT-6")
def test_a_report_that_was_not_written_yet_gives_way_to_a_newer_one() -> None:
    session = opened()
    assert not session.offer(1, b"one")
    assert session.offer(2, b"two")
    assert session.take() == b"two"
    assert session.take() is None


def test_control_frames_go_ahead_of_a_waiting_report() -> None:
    session = opened()
    session.offer(1, b"report")
    session.send(b"registered")
    assert [session.take(), session.take(), session.take()] == [b"registered", b"report", None]


def test_after_the_end_only_the_last_frame_goes_out() -> None:
    session = opened()
    session.send(b"registered")
    session.offer(1, b"report")
    session.end(b"error")
    session.end(b"again")
    assert [session.take(), session.take(), session.take()] == [b"registered", b"error", None]


@pytest.mark.clause("ACK-1")
def test_a_displaced_report_gives_its_credit_back_to_the_one_that_took_its_place() -> None:
    session = opened(max_unacked=2)
    session.offer(1, b"one")
    session.take()
    session.offer(2, b"two")
    assert [session.has_credit, session.acknowledge(1)] == [False, True]
    session.offer(3, b"three")
    assert session.has_credit
    assert session.take() == b"three"


@given(st.integers(1, 4), st.lists(st.sampled_from(["fire", "write", "ack"]), max_size=60))
def test_never_more_reports_are_in_flight_than_credits_were_granted(window: int, steps: list[str]) -> None:
    session = opened(max_unacked=window)
    sequence_id, written, acked = 0, [], 0
    for step in steps:
        if step == "fire":
            sequence_id += 1
            if session.has_credit:
                session.offer(sequence_id, str(sequence_id).encode())
        elif step == "write":
            frame = session.take()
            if frame is not None:
                written.append(int(frame))
        elif written:
            acked = written[-1]
            assert session.acknowledge(acked)
        assert sum(one > acked for one in written) <= window
    assert written == sorted(set(written))


@given(st.integers(1, 10_000), st.integers(0, 10**6))
def test_the_next_deadline_is_the_first_one_in_phase_after_now(interval_ns: int, now_ns: int) -> None:
    session = Session(on_ready=lambda: None)
    session.open("r", interval_ns=interval_ns, lease_ns=1, max_unacked=None, anchor_ns=0, now_ns=0)
    session.skip(now_ns)
    assert now_ns < session.deadline_ns <= now_ns + interval_ns
    assert session.deadline_ns % interval_ns == 0


@pytest.mark.clause("LEASE-2")
@pytest.mark.parametrize("late_ns", [0, 1, LEASE_GRACE_NS, LEASE_GRACE_NS + 1])
def test_a_lease_is_judged_by_a_second_look_that_is_on_time(late_ns: int) -> None:
    session = opened(lease_ms=1_000)
    first_ns = 1_000 * MS + late_ns
    assert not session.judge_lease(1_000 * MS - 1)
    assert not session.judge_lease(first_ns)
    assert session.wake_at(first_ns) == first_ns + LEASE_GRACE_NS
    assert not session.is_due(first_ns)
    late_again_ns = first_ns + 2 * LEASE_GRACE_NS + 1
    assert not session.judge_lease(late_again_ns)
    assert session.judge_lease(late_again_ns + 2 * LEASE_GRACE_NS)


@pytest.mark.clause("LEASE-1", "LEASE-2")
def test_a_frame_read_between_two_looks_renews_the_lease() -> None:
    session = opened(lease_ms=1_000)
    assert not session.judge_lease(1_000 * MS)
    session.renew(1_040 * MS)
    assert not session.judge_lease(1_050 * MS)
    assert not session.judge_lease(2_040 * MS)
    assert session.judge_lease(2_090 * MS)


def test_a_loop_that_is_always_late_still_lets_leases_expire() -> None:
    session = opened(lease_ms=1_000)
    now_ns = 1_000 * MS
    looks = 0
    while not session.judge_lease(now_ns := now_ns + 2 * LEASE_GRACE_NS + 1):
        looks += 1
        assert looks < 10


def test_frames_are_counted_against_a_rate_with_a_seconds_slack() -> None:
    session = opened()
    admitted = [session.admit_frame(0, 10) for _ in range(12)]
    assert admitted == [True] * 10 + [False] * 2
    assert not session.admit_frame(100 * MS, 10)
    assert session.admit_frame(400 * MS, 10)

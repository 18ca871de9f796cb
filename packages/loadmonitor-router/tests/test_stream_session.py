"""The Router's half of a stream, frame by frame and without a wire."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loadmonitor_proto as wire
from loadmonitor_router import ClientConfig, StreamRefusedError
from loadmonitor_router._ingest import Ingest
from loadmonitor_router._stream import StreamLostError, StreamSession
from loadmonitor_router.testing import wire_report

MS = 1_000_000
KEEP_ALIVE = wire.RouterFrame(keep_alive=wire.KeepAlive())


def ack(sequence_id: int) -> wire.RouterFrame:
    return wire.RouterFrame(keep_alive=wire.KeepAlive(acked_sequence_id=sequence_id))


def grant(**fields: Any) -> wire.WorkerFrame:
    """An acknowledgement of a Worker that knows the extension; None leaves a field out."""
    complete = {
        "lease_ttl_ms": 15_000, "renew_after_ms": 5_000, "report_interval_ms": 50, "stale_after_ms": 3_000,
        "source_instance_id": "a", "min_report_interval_ms": 10, "max_lease_ttl_ms": 300_000,
    }  # fmt: skip
    response = wire.RegisterResponse()
    for name, value in (complete | fields).items():
        if value is not None:
            setattr(response, name, value)
    return wire.WorkerFrame(registered=response)


def report(sequence_id: int, *, report_time_unix_ms: int = 1_750_000_000_020) -> wire.WorkerFrame:
    return wire.WorkerFrame(report=wire_report(sequence_id, report_time_unix_ms=report_time_unix_ms))


def opened(window: int | None = 1) -> StreamSession:
    """A session that has sent its register at time 0."""
    config = ClientConfig(router_id="r", max_unacked_reports=window)
    session = StreamSession("w:1", config, Ingest())
    session.next_frame(0)
    return session


def running(window: int | None = 1, **fields: Any) -> StreamSession:
    session = opened(window)
    session.receive(grant(**fields), 1 * MS)
    return session


@pytest.mark.clause("OPEN-1")
def test_the_first_frame_is_the_register_and_it_is_sent_once() -> None:
    config = ClientConfig(router_id="r", report_interval_ms=20, lease_ttl_ms=30, max_unacked_reports=None)
    session = StreamSession("w:1", config, Ingest())
    request = wire.RegisterRequest(router_id="r", report_interval_ms=20, lease_ttl_ms=30)
    assert session.next_frame(0) == wire.RouterFrame(register=request)
    assert session.next_frame(1) is None


def test_a_registration_must_be_acknowledged_in_time() -> None:
    session = opened()
    assert session.wake_at_ns == 2_000 * MS
    assert session.next_frame(2_000 * MS - 1) is None
    with pytest.raises(StreamLostError, match="not acknowledged within 2000 ms"):
        session.next_frame(2_000 * MS)


@pytest.mark.clause("LEASE-1")
def test_the_lease_is_renewed_after_three_quarters_of_renew_after_since_the_last_frame() -> None:
    session = running()
    assert session.wake_at_ns == 3_750 * MS
    assert session.next_frame(3_750 * MS - 1) is None
    assert session.next_frame(3_750 * MS) == KEEP_ALIVE
    assert session.wake_at_ns == 7_500 * MS
    session.receive(report(1), 5_000 * MS)
    session.processed(1)
    assert session.next_frame(5_000 * MS) == ack(1)
    assert session.wake_at_ns == 8_750 * MS


def test_a_frame_is_of_no_use_once_the_lease_it_renews_has_run_out() -> None:
    assert opened().patience(0) == (2_000 * MS, "registration not acknowledged within 2000 ms")
    until_ns, why = running().patience(5)
    assert until_ns == 5 + 15_000 * MS
    assert "no frame for as long as its lease" in why


def test_a_late_timer_still_renews_once() -> None:
    session = running()
    assert session.next_frame(60_000 * MS) == KEEP_ALIVE
    assert session.next_frame(60_000 * MS) is None


@pytest.mark.parametrize(
    "missing",
    [
        "report_interval_ms", "stale_after_ms", "source_instance_id", "min_report_interval_ms", "max_lease_ttl_ms",
    ],
)  # fmt: skip
def test_a_worker_that_leaves_out_any_field_of_the_extension_is_not_trusted_to_wait_for_credit(missing: str) -> None:
    session = running(window=4, **{missing: None})
    assert session.grant is not None
    assert session.grant.max_unacked_reports is None
    assert session.window == 1
    session.receive(report(1), 2 * MS)
    assert not session.processed(1)
    assert session.next_frame(3 * MS) is None


@pytest.mark.clause("OPEN-3")
def test_a_second_acknowledgement_breaks_the_protocol() -> None:
    session = running()
    with pytest.raises(StreamLostError, match="protocol error: a second acknowledgement"):
        session.receive(grant(), 2 * MS)


@pytest.mark.clause("OPEN-3")
def test_a_report_before_the_acknowledgement_breaks_the_protocol() -> None:
    with pytest.raises(StreamLostError, match="protocol error: a report came before"):
        opened().receive(report(1), 1 * MS)


@pytest.mark.parametrize("frame", [None, wire.WorkerFrame()])
def test_an_empty_frame_breaks_the_protocol(frame: wire.WorkerFrame | None) -> None:
    with pytest.raises(StreamLostError, match="protocol error: a frame that is empty"):
        running().receive(frame, 1 * MS)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"lease_ttl_ms": 5_000}, "renew_after_ms=5000 isn't below its lease_ttl_ms=5000"),
        ({"lease_ttl_ms": 0}, "lease_ttl_ms=0"),
        ({"renew_after_ms": 0}, "renew_after_ms=0"),
        ({"renew_after_ms": -1}, "renew_after_ms=-1"),
        ({"report_interval_ms": 0}, "report_interval_ms=0"),
    ],
)
def test_a_grant_that_can_not_be_used_breaks_the_protocol(fields: dict[str, int], fault: str) -> None:
    with pytest.raises(StreamLostError, match="protocol error: the acknowledgement") as raised:
        running(**fields)
    assert fault in str(raised.value)


@pytest.mark.clause("END-3")
def test_error_codes_are_told_apart() -> None:
    def error(code: str, message: str = "") -> wire.WorkerFrame:
        return wire.WorkerFrame(error=wire.StreamError(code=code, message=message))

    with pytest.raises(StreamRefusedError, match="w:1 refuses this router: INVALID_ARGUMENT: no reason given"):
        opened().receive(error("INVALID_ARGUMENT"), 1 * MS)
    with pytest.raises(StreamLostError, match="SHUTTING_DOWN: bye") as raised:
        running().receive(error("SHUTTING_DOWN", "bye"), 1 * MS)
    assert raised.value.code == "SHUTTING_DOWN"
    with pytest.raises(StreamLostError, match="error without a code: no reason given"):
        running().receive(error(""), 1 * MS)


@pytest.mark.clause("ACK-1")
def test_acknowledgements_of_reports_taken_out_of_order_wait_for_the_oldest() -> None:
    session = running(window=3)
    for number in (5, 6, 9):
        session.receive(report(number), 2 * MS)
    assert not session.processed(6)
    assert not session.processed(9)
    assert session.next_frame(3 * MS) is None
    assert session.processed(5)
    assert session.next_frame(4 * MS) == ack(9)
    assert session.next_frame(5 * MS) is None


def test_a_report_that_tells_another_state_of_the_engine_is_acknowledged_without_waiting() -> None:
    session = running(report_interval_ms=1_000)
    session.receive(report(1), 0)
    session.processed(1)
    assert session.next_frame(899 * MS) is None
    assert session.next_frame(900 * MS) == ack(1)
    drains = report(2)
    drains.report.worker_state = wire.WorkerState.WORKER_STATE_DRAINING
    session.receive(drains, 950 * MS)
    session.processed(2)
    assert session.next_frame(950 * MS) == ack(2)


def test_a_dropped_report_needs_no_consumer_to_be_acknowledged() -> None:
    session = running()
    frame = report(3)
    frame.report.ranks[0].num_waiting_reqs = -1
    assert session.receive(frame, 2 * MS) is None
    assert session.next_frame(2 * MS) == ack(3)


@pytest.mark.clause("ACK-2")
def test_the_delay_of_a_report_is_bounded_by_the_frame_that_made_room_for_it() -> None:
    session = running()
    first = session.receive(report(1), 40 * MS)
    session.processed(1)
    session.next_frame(100 * MS)
    second = session.receive(report(2), 160 * MS)
    assert first is not None
    assert second is not None
    assert (first.receipt.delay_ms, second.receipt.delay_ms) == (40, 60)
    assert second.receipt.monotonic_ns == 160 * MS


def test_a_worker_that_sends_more_than_its_credit_has_reports_of_unknown_age() -> None:
    session = running()
    session.receive(report(1), 2 * MS)
    extra = session.receive(report(2), 2 * MS)
    assert extra is not None
    assert extra.receipt.delay_ms is None


def test_without_acknowledgements_the_delay_is_estimated() -> None:
    session = running(window=None)
    first = session.receive(report(1, report_time_unix_ms=1_000_000), 3 * MS)
    stalled = session.receive(report(2, report_time_unix_ms=1_001_000), 11_003 * MS)
    assert first is not None
    assert stalled is not None
    assert first.receipt.delay_ms == 3
    assert stalled.receipt.delay_ms == pytest.approx(9_997.5, abs=0.1)
    assert session.restart_reason is None


def test_a_step_of_the_workers_clock_asks_for_a_new_stream() -> None:
    session = running(window=None)
    session.receive(report(1, report_time_unix_ms=1_000_000), 3 * MS)
    session.receive(report(2, report_time_unix_ms=900_000), 1_003 * MS)
    assert session.restart_reason is not None


@given(
    window=st.integers(1, 4),
    moves=st.lists(st.sampled_from(["report", "dropped", "take", "take last", "send"]), max_size=60),
)
def test_acknowledgements_grow_and_cover_only_what_was_processed(window: int, moves: list[str]) -> None:
    session = running(window)
    sequence = acked = 0
    waiting: list[int] = []
    unprocessed: set[int] = set()
    for now, move in enumerate(moves, start=2):
        if move in ("report", "dropped") and sequence - acked < window:
            sequence += 1
            frame = report(sequence)
            if move == "dropped":
                frame.report.ranks[0].dp_rank = -1
            handed_over = session.receive(frame, now * MS)
            assert (handed_over is None) == (move == "dropped")
            if handed_over is not None:
                assert handed_over.receipt.delay_ms is not None
                waiting.append(sequence)
                unprocessed.add(sequence)
        elif move.startswith("take") and waiting:
            taken = waiting.pop(-1 if move == "take last" else 0)
            unprocessed.discard(taken)
            session.processed(taken)
        elif move == "send" and (sent := session.next_frame(now * MS)) is not None:
            newest = sent.keep_alive.acked_sequence_id
            assert acked < newest <= sequence
            assert not [number for number in unprocessed if number <= newest]
            acked = newest
    for number in waiting:
        session.processed(number)
    last = session.next_frame(1_000 * MS)
    assert acked == sequence if last is None else last == ack(sequence)

"""Each report once, never an older one after a newer, and every drop explained."""

from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router import DropReason, Receipt
from loadmonitor_router._ingest import Ingest
from loadmonitor_router.testing import wire_report

RECEIPT = Receipt(monotonic_ns=5, delay_ms=1.0)


def admitted(ingest: Ingest, instance: str, sequence_id: int) -> bool:
    return ingest.admit(wire_report(sequence_id, source_instance_id=instance), RECEIPT) is not None


def test_duplicates_and_older_reports_are_dropped_across_streams() -> None:
    ingest = Ingest()
    assert [admitted(ingest, "a", number) for number in (1, 1, 5, 4, 6)] == [True, False, True, False, True]
    assert ingest.received == 5
    assert ingest.dropped == {DropReason.OUT_OF_ORDER: 2}
    assert ingest.last_drop == "report 4 of instance a: report 5 came before"


def test_a_restarted_worker_may_begin_again_at_one_and_what_the_old_one_still_sends_is_dropped() -> None:
    ingest = Ingest()
    order = [("a", 900), ("b", 1), ("a", 901), ("b", 2), ("a", 902)]
    assert [admitted(ingest, *report) for report in order] == [True, True, False, True, False]
    assert ingest.dropped == {DropReason.RETIRED_INSTANCE: 2}
    assert ingest.last_drop == "report 902 of instance a: instance b has reported since"


def test_a_retired_instance_that_acknowledges_a_new_stream_is_heard_again_and_retires_the_other() -> None:
    ingest = Ingest()
    assert admitted(ingest, "a", 900)
    assert admitted(ingest, "b", 1)
    ingest.acknowledged_by("a")
    order = [("a", 901), ("b", 2), ("a", 900), ("a", 902)]
    assert [admitted(ingest, *report) for report in order] == [True, False, False, True]


def test_an_instance_that_acknowledges_again_repeats_no_report() -> None:
    ingest = Ingest()
    assert admitted(ingest, "a", 5)
    ingest.acknowledged_by("a")
    assert not admitted(ingest, "a", 5)


def test_an_invalid_report_retires_nobody_and_advances_nothing() -> None:
    ingest = Ingest()
    assert admitted(ingest, "a", 5)
    assert ingest.admit(wire_report(6, source_instance_id="b", ranks=[]), RECEIPT) is None
    assert ingest.admit(wire_report(7, ranks=[]), RECEIPT) is None
    assert admitted(ingest, "a", 6)
    assert ingest.dropped == {DropReason.NO_RANKS: 2}


def test_a_report_without_an_instance_is_explained_without_one() -> None:
    ingest = Ingest()
    assert not admitted(ingest, "", 3)
    assert ingest.last_drop == "report 3 of instance -: source_instance_id is blank"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=40))
def test_what_is_handed_over_is_in_order_and_everything_is_counted(arrivals: list[tuple[str, int]]) -> None:
    ingest = Ingest()
    handed_over = [report for report in arrivals if admitted(ingest, *report)]
    instances = list(dict.fromkeys(instance for instance, _ in handed_over))
    assert [instance for instance, _ in handed_over] == sorted(
        (instance for instance, _ in handed_over), key=instances.index
    )
    for instance in instances:
        sequence = [number for name, number in handed_over if name == instance]
        assert sequence == sorted(set(sequence))
    assert ingest.received == len(arrivals) == len(handed_over) + ingest.dropped.total()

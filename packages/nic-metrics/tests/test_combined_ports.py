"""One number for several ports."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nic_metrics import Direction, UnknownReason, Utilization, busiest, combine_rails

LINK = 50e9
DOWN = Utilization(None, UnknownReason.PORT_NOT_ACTIVE, link_bytes_per_second=1.25e9)


def rail(tx: float, rx: float, link: float = LINK, source: str = "counters_ext") -> Utilization:
    return Utilization(max(tx, rx) * LINK / link, None, tx * LINK, rx * LINK, link, source)


def test_rails_are_bytes_over_capacity_in_the_busier_direction() -> None:
    assert combine_rails([rail(0.8, 0.1), rail(0.2, 0.3)]) == Utilization(
        0.5, None, LINK, 0.4 * LINK, 2 * LINK, "counters_ext"
    )


def test_a_faster_rail_counts_for_more() -> None:
    assert combine_rails([rail(1.0, 0.0), rail(0.0, 0.0, LINK * 3)]).value == 0.25


def test_one_rail_is_itself() -> None:
    assert combine_rails([rail(0.8, 0.1)]) == rail(0.8, 0.1)


def test_sources_are_named_once_each() -> None:
    sources = ["counters", "netlink/rdma_bytes", "counters"]
    assert combine_rails([rail(0.0, 0.0, source=name) for name in sources]).source == "counters+netlink/rdma_bytes"


def test_d17_a_rail_that_is_down_is_neither_capacity_nor_idle() -> None:
    assert combine_rails([DOWN, rail(0.8, 0.1)]) == rail(0.8, 0.1)
    assert busiest([DOWN, rail(0.8, 0.1)]) == rail(0.8, 0.1)


@pytest.mark.parametrize("combine", [combine_rails, busiest])
def test_ports_that_are_all_down_are_unknown(combine: Callable[[list[Utilization]], Utilization]) -> None:
    assert combine([DOWN, DOWN]) == Utilization(None, UnknownReason.PORT_NOT_ACTIVE)
    assert combine([]) == Utilization(None, UnknownReason.PORT_MISSING)


@pytest.mark.parametrize("reason", sorted(set(UnknownReason) - {UnknownReason.PORT_NOT_ACTIVE}))
def test_a_port_that_cannot_be_seen_makes_the_whole_unknown(reason: UnknownReason) -> None:
    blind = Utilization(None, reason)
    for combined in (combine_rails([rail(0.0, 0.0), blind]), busiest([rail(0.0, 0.0), blind])):
        assert (combined.value, combined.reason) == (None, reason)


def test_the_first_unknown_rail_gives_the_reason() -> None:
    reset, missing = Utilization(None, UnknownReason.COUNTER_RESET), Utilization(None, UnknownReason.PORT_MISSING)
    assert combine_rails([rail(0.1, 0.1), missing, reset]).reason is UnknownReason.PORT_MISSING


def test_bytes_are_told_where_only_a_capacity_is_unknown() -> None:
    no_rate = Utilization(None, UnknownReason.CAPACITY_UNKNOWN, 10.0, 20.0, None, "counters")
    assert combine_rails([rail(0.5, 0.5), no_rate]) == Utilization(
        None, UnknownReason.CAPACITY_UNKNOWN, LINK / 2 + 10, LINK / 2 + 20, None, "counters_ext+counters"
    )


def test_a_direction_that_a_rail_does_not_show_makes_a_lower_bound() -> None:
    half = Utilization(0.1, None, None, 0.1 * LINK, LINK, "counters", Direction.TX)
    combined = combine_rails([rail(0.9, 0.3), half])
    assert combined.value == pytest.approx(0.2)
    assert combined.missing is Direction.TX
    other_half = Utilization(0.1, None, 0.1 * LINK, None, LINK, "counters", Direction.RX)
    assert combine_rails([half, other_half]).reason is UnknownReason.NO_BYTE_COUNTER


def test_the_busiest_is_the_sample_itself() -> None:
    samples = [rail(0.1, 0.2), rail(0.0, 0.9), rail(0.3, 0.3)]
    assert busiest(samples) is samples[1]


def test_a_busiest_port_beside_one_that_is_seen_by_half_is_a_lower_bound() -> None:
    half = Utilization(0.0, None, None, 0.0, LINK, "counters", Direction.TX)
    for samples in ([rail(0.0, 0.0), half], [half, rail(0.0, 0.0)]):
        assert busiest(samples).missing is Direction.TX
    assert busiest([half, rail(0.9, 0.0)]) == rail(0.9, 0.0)._replace(missing=Direction.TX)


utilizations = st.one_of(
    st.builds(rail, st.floats(0, 1), st.floats(0, 1), st.sampled_from([LINK, 2 * LINK])),
    st.builds(Utilization, st.none(), st.sampled_from(UnknownReason)),
    st.builds(
        lambda share: Utilization(share, None, None, share * LINK, LINK, "counters", Direction.TX), st.floats(0, 1)
    ),
)


@given(st.lists(utilizations, max_size=5))
def test_no_combination_is_outside_0_to_1_or_idle_without_every_port_measured_idle(samples: list[Utilization]) -> None:
    up = [sample for sample in samples if sample.reason is not UnknownReason.PORT_NOT_ACTIVE]
    for combined in (combine_rails(samples), busiest(samples)):
        assert (combined.value is None) != (combined.reason is None)
        assert combined.value is None or 0 <= combined.value <= 1
        if combined.value == 0:
            assert up
            assert all(sample.value == 0 for sample in up)
        if up and all(sample.value is not None for sample in up):
            assert combined.value is not None
            assert combined.missing == next((sample.missing for sample in up if sample.missing is not None), None)

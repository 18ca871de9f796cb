"""How busy a port was between two samples of its counters. Pure: no file, no clock.

Utilisation is the busier direction's bytes per second over the link's capacity in one direction. Whatever could make it a guess
gives None and a reason; 0.0 means that counters were read twice and stood still.
"""

from enum import StrEnum
from typing import NamedTuple

from nic_metrics.counters import ByteSource, CounterSet

_ALL_ONES_64 = frozenset({2**64 - 1})
_ALL_ONES = _ALL_ONES_64 | {2**32 - 1}
# A cached value may be as old as one lifespan at either end: ten of them keep the error of a window at 10 %.
_CACHES_PER_WINDOW = 10
# Below this, the time that the reading itself takes is a part of the window that can't be neglected.
SHORTEST_SECONDS = 0.001
"""Shortest window that is ever measured."""
# Above this many times the link's capacity it isn't the link's capacity, or not this port's counter; below, it is the cache.
_PLAUSIBLE = 1.25
_WENT_BACK = -1


class UnknownReason(StrEnum):
    """Why a port's utilisation is unknown."""

    FIRST_SAMPLE = "first_sample"
    """Nothing to compare with yet."""

    WINDOW_TOO_SHORT = "window_too_short"
    """Too soon after the sample before, which stays the one to compare with."""

    PORT_MISSING = "port_missing"
    """The device or the port doesn't exist under the root."""

    PORT_NOT_ACTIVE = "port_not_active"
    """The link is down, or on its way up: no capacity, so not an idle one either."""

    NO_BYTE_COUNTER = "no_byte_counter"
    """No file that is known to count bytes can be read, in neither direction."""

    COUNTER_RESET = "counter_reset"
    """A counter went back: somebody cleared it, or the driver was loaded again."""

    COUNTER_SATURATED = "counter_saturated"
    """A counter stands at all ones, where registers of 32 bits stop; it counts again once it has been cleared."""

    SOURCE_CHANGED = "source_changed"
    """The counters come from other files, or from files opened anew, than those of the sample before."""

    CAPACITY_UNKNOWN = "capacity_unknown"
    """The port states no rate that can be read."""

    CAPACITY_CHANGED = "capacity_changed"
    """The port stated another rate at the sample before, or none: the link came up or renegotiated in between."""

    CAPACITY_IMPLAUSIBLE = "capacity_implausible"
    """More bytes went through than the stated rate allows, by more than a quarter."""


class Direction(StrEnum):
    """A direction of a port, seen from the host."""

    TX = "tx"
    RX = "rx"


class PortSample(NamedTuple):
    """What was read of a port at one moment.

    Attributes:
        seconds: When, on a monotonic clock.
        counters: The byte counters; None when there are none to read.
        link_bytes_per_second: Capacity of each direction; None when unknown.
        active: Whether the link is up; None when the port doesn't say.
        cache_seconds: For how long the kernel keeps a counter's value.
        present: Whether the port exists.
    """

    seconds: float
    counters: CounterSet | None
    link_bytes_per_second: float | None
    active: bool | None = None
    cache_seconds: float = 0.0
    present: bool = True


class Utilization(NamedTuple):
    """How busy a port was, or why that is unknown: exactly one of `value` and `reason` is None.

    Attributes:
        value: The busier direction over capacity, 0 to 1.
        reason: Why `value` is None.
        tx_bytes_per_second: Bytes sent a second, at least 0; None when unknown. May be known while `value` isn't.
        rx_bytes_per_second: Bytes received a second, at least 0; None when unknown.
        link_bytes_per_second: Capacity of each direction; None when unknown.
        source: Name of the byte source; None when there is none.
        missing: The direction that could not be measured while the other could: `value` is then a lower bound.
    """

    value: float | None
    reason: UnknownReason | None
    tx_bytes_per_second: float | None = None
    rx_bytes_per_second: float | None = None
    link_bytes_per_second: float | None = None
    source: str | None = None
    missing: Direction | None = None


def measure(before: PortSample | None, now: PortSample, *, min_window_seconds: float) -> Utilization:
    """Tell how busy a port was between two samples.

    Args:
        before: The sample to compare with; None when there is none.
        now: The later sample.
        min_window_seconds: Shortest window that is measured; a source that the kernel caches needs ten times its lifespan.
    """
    reason = _problem_alone(now) or _problem_of_window(before, now, min_window_seconds)
    if reason is not None or before is None or before.counters is None or now.counters is None:
        return _unknown(reason or UnknownReason.NO_BYTE_COUNTER, now)
    window_seconds = now.seconds - before.seconds
    source, tx_now, rx_now, _ = now.counters
    _, tx_before, rx_before, _ = before.counters
    tx, rx = _moved(tx_before, tx_now), _moved(rx_before, rx_now)
    if _WENT_BACK in {tx, rx}:
        if _saturated(before.counters):
            return _unknown(UnknownReason.COUNTER_SATURATED, now)
        # Both directions going back at once is what clearing them looks like.
        if tx != rx and source.may_be_32_bit and now.link_bytes_per_second is not None:
            # What the link could carry in this window: a register that started over can't have counted more.
            most = now.link_bytes_per_second * _PLAUSIBLE * window_seconds / source.bytes_per_count
            tx, rx = _moved(tx_before, tx_now, most), _moved(rx_before, rx_now, most)
        if _WENT_BACK in {tx, rx}:
            return _unknown(UnknownReason.COUNTER_RESET, now)
    bytes_per_count = source.bytes_per_count
    return _of_rates(
        None if tx is None else tx * bytes_per_count / window_seconds,
        None if rx is None else rx * bytes_per_count / window_seconds,
        before.link_bytes_per_second,
        now,
    )


def next_baseline(before: PortSample | None, now: PortSample, measured: Utilization) -> PortSample | None:
    """Choose what the next sample is compared with.

    A window that was too short goes on, and so does one whose end could not be read; a link that was down starts afresh.

    Args:
        before: The sample that `now` was compared with.
        now: The later sample.
        measured: What `measure` made of the two.
    """
    match measured.reason:
        case UnknownReason.PORT_MISSING | UnknownReason.PORT_NOT_ACTIVE:
            return None
        case UnknownReason.WINDOW_TOO_SHORT:
            return before
        case UnknownReason.NO_BYTE_COUNTER if now.counters is None:
            return before
        case _:
            return now


def _unknown(reason: UnknownReason, now: PortSample) -> Utilization:
    source = None if now.counters is None else now.counters.source.name
    return Utilization(None, reason, None, None, now.link_bytes_per_second, source)


def _problem_alone(now: PortSample) -> UnknownReason | None:
    """Say why a sample is of no use whatever it is compared with."""
    if not now.present:
        return UnknownReason.PORT_MISSING
    if now.active is False:
        return UnknownReason.PORT_NOT_ACTIVE
    if now.counters is None:
        return UnknownReason.NO_BYTE_COUNTER
    return UnknownReason.COUNTER_SATURATED if _saturated(now.counters) else None


def _problem_of_window(before: PortSample | None, now: PortSample, min_window_seconds: float) -> UnknownReason | None:
    """Say why two samples can't be compared."""
    if before is None or before.counters is None or now.counters is None or now.seconds < before.seconds:
        return UnknownReason.FIRST_SAMPLE
    window_seconds = now.seconds - before.seconds
    if (
        window_seconds < min_window_seconds
        or window_seconds < SHORTEST_SECONDS
        or window_seconds < now.cache_seconds * _CACHES_PER_WINDOW
    ):
        return UnknownReason.WINDOW_TOO_SHORT
    source, old_source = now.counters.source, before.counters.source
    # Nearly always the same object, which is cheaper to see than that it is equal.
    same = (source is old_source or source == old_source) and now.counters.generation == before.counters.generation
    return None if same else UnknownReason.SOURCE_CHANGED


def _of_rates(tx: float | None, rx: float | None, link_before: float | None, now: PortSample) -> Utilization:
    """Put bytes per second in relation to the link."""
    missing = None
    if tx is None:
        busier, missing = rx, Direction.TX
    elif rx is None:
        busier, missing = tx, Direction.RX
    else:
        busier = max(rx, tx)
    if busier is None or now.counters is None:
        return _unknown(UnknownReason.NO_BYTE_COUNTER, now)
    link, source = now.link_bytes_per_second, now.counters.source.name
    if link is not None and link == link_before and busier <= link * _PLAUSIBLE:
        return Utilization(1.0 if busier > link else busier / link, None, tx, rx, link, source, missing)
    if link is None:
        reason = UnknownReason.CAPACITY_UNKNOWN
    elif link != link_before:
        reason = UnknownReason.CAPACITY_CHANGED
    else:
        reason = UnknownReason.CAPACITY_IMPLAUSIBLE
    return Utilization(None, reason, tx, rx, link, source, missing)


def all_ones(source: ByteSource) -> frozenset[int]:
    """Give the values at which a counter of a source may stand still for being full."""
    return _ALL_ONES if source.may_be_32_bit else _ALL_ONES_64


def _saturated(counters: CounterSet) -> bool:
    ones = all_ones(counters.source)
    return not (ones.isdisjoint(counters.tx or ()) and ones.isdisjoint(counters.rx or ()))


def _moved(before: tuple[int, ...] | None, now: tuple[int, ...] | None, most: float = -1.0) -> int | None:
    """Count what a direction moved, `_WENT_BACK` when a counter went back.

    Args:
        before: Its counters at the start; None when they could not be read.
        now: Its counters at the end.
        most: What a register of 32 bits that started over may have counted; below 0 when none may have.
    """
    if before is None or now is None:
        return None
    total = 0
    for old, new in zip(before, now, strict=True):
        counts = new - old
        if counts < 0:
            # It started over, unless it was cleared. More than half the register's range would be as likely the latter.
            counts += 2**32
            if not (old < 2**32 and counts < 2**31 and counts <= most):
                return _WENT_BACK
        total += counts
    return total

"""How busy a port was between two samples of its counters. Pure: no file, no clock.

Utilisation is the busier direction's bytes per second over the link's capacity in one direction. Whatever could make it a guess
gives None and a reason; 0.0 means that counters were read twice and stood still.
"""

from dataclasses import dataclass
from enum import StrEnum

from nic_metrics.counters import CounterSet, CounterValue

_ALL_ONES_64 = frozenset({2**64 - 1})
_ALL_ONES = _ALL_ONES_64 | {2**32 - 1}
# A cached value may be as old as one lifespan at either end: ten of them keep the error of a window at 10 %.
_CACHES_PER_WINDOW = 10
# Below this, the time that the reading itself takes is a part of the window that can't be neglected.
_SHORTEST_SECONDS = 0.001
# Above this many times the link's capacity it isn't the link's capacity, or not this port's counter; below, it is the cache.
_PLAUSIBLE = 1.25


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


@dataclass(frozen=True, slots=True)
class PortSample:
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


@dataclass(frozen=True, slots=True)
class Utilization:
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
    link, counters = now.link_bytes_per_second, now.counters
    source = counters.source.name if counters is not None else None

    def unknown(reason: UnknownReason) -> Utilization:
        return Utilization(None, reason, link_bytes_per_second=link, source=source)

    problem = _problem_alone(now)
    if problem is not None or counters is None:
        return unknown(problem or UnknownReason.NO_BYTE_COUNTER)
    if before is None or before.counters is None or now.seconds < before.seconds:
        return unknown(UnknownReason.FIRST_SAMPLE)
    window_seconds = now.seconds - before.seconds
    if window_seconds < max(_SHORTEST_SECONDS, min_window_seconds, now.cache_seconds * _CACHES_PER_WINDOW):
        return unknown(UnknownReason.WINDOW_TOO_SHORT)
    if _saturated(before.counters):
        return unknown(UnknownReason.COUNTER_SATURATED)
    if before.counters.source != counters.source:
        return unknown(UnknownReason.SOURCE_CHANGED)
    # What the link could carry in this window, in counts; a register that started over can't have counted more.
    most = None if link is None else link * _PLAUSIBLE * window_seconds / counters.source.bytes_per_count
    # Both directions going back at once is what clearing them looks like.
    cleared = _went_back(before.counters.tx, counters.tx) and _went_back(before.counters.rx, counters.rx)
    narrow_most = most if counters.source.may_be_32_bit and not cleared else None
    tx = _counts(before.counters.tx, counters.tx, narrow_most)
    rx = _counts(before.counters.rx, counters.rx, narrow_most)
    if isinstance(tx, UnknownReason):
        return unknown(tx)
    if isinstance(rx, UnknownReason):
        return unknown(rx)
    bytes_per_count = counters.source.bytes_per_count
    return _of_rates(
        None if tx is None else tx * bytes_per_count / window_seconds,
        None if rx is None else rx * bytes_per_count / window_seconds,
        before.link_bytes_per_second,
        link,
        counters.source.name,
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


def _problem_alone(now: PortSample) -> UnknownReason | None:
    """Say why a sample is of no use whatever it is compared with."""
    if not now.present:
        return UnknownReason.PORT_MISSING
    if now.active is False:
        return UnknownReason.PORT_NOT_ACTIVE
    if now.counters is not None and _saturated(now.counters):
        return UnknownReason.COUNTER_SATURATED
    return None


def _of_rates(
    tx: float | None, rx: float | None, link_before: float | None, link: float | None, source: str
) -> Utilization:
    """Put bytes per second in relation to the link."""
    if tx is None:
        busier, missing = rx, Direction.TX
    elif rx is None:
        busier, missing = tx, Direction.RX
    else:
        busier, missing = max(tx, rx), None
    if busier is None:
        return Utilization(None, UnknownReason.NO_BYTE_COUNTER, link_bytes_per_second=link, source=source)
    reason = _capacity_problem(link_before, link, busier)
    value = min(1.0, busier / link) if reason is None and link is not None else None
    return Utilization(value, reason, tx, rx, link, source, missing)


def _saturated(counters: CounterSet) -> bool:
    ones = _ALL_ONES if counters.source.may_be_32_bit else _ALL_ONES_64
    return any(value in ones for value, _ in (counters.tx or ()) + (counters.rx or ()))


def _is_less(new: CounterValue, old: CounterValue) -> bool:
    return new.value < old.value


def _went_back(before: tuple[CounterValue, ...] | None, now: tuple[CounterValue, ...] | None) -> bool:
    return before is not None and now is not None and any(map(_is_less, now, before))


def _capacity_problem(before: float | None, now: float | None, busier: float) -> UnknownReason | None:
    if now is None:
        return UnknownReason.CAPACITY_UNKNOWN
    if before != now:
        return UnknownReason.CAPACITY_CHANGED
    return UnknownReason.CAPACITY_IMPLAUSIBLE if busier > now * _PLAUSIBLE else None


def _counts(
    before: tuple[CounterValue, ...] | None, now: tuple[CounterValue, ...] | None, narrow_most: float | None
) -> int | UnknownReason | None:
    """Count what a direction moved: None when it can't be read at both ends, a reason when the numbers don't fit together."""
    if before is None or now is None:
        return None
    total = 0
    for old, new in zip(before, now, strict=True):
        if old.generation != new.generation:
            return UnknownReason.SOURCE_CHANGED
        counts = new.value - old.value
        if counts < 0:
            # It started over, unless it was cleared. More than half the register's range would be as likely the latter.
            counts += 2**32
            wrapped = old.value < 2**32 and counts < 2**31 and narrow_most is not None and counts <= narrow_most
            if not wrapped:
                return UnknownReason.COUNTER_RESET
        total += counts
    return total

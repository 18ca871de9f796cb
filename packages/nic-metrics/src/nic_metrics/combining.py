"""One number for several ports. Pure: what `PortSampler.sample` gave of each goes in.

What can't be seen is never taken for idle: as long as one of the ports is unknown, so is the whole. Ports that are down are left
out: they carry nothing and have no capacity.
"""

from collections.abc import Iterable, Sequence

from nic_metrics.utilization import Direction, UnknownReason, Utilization


def combine_rails(samples: Iterable[Utilization]) -> Utilization:
    """Tell how busy rails are that share the same traffic: their bytes over their capacity, in the busier direction.

    For several NICs of one GPU, the ports of one NIC or the members of a bond, which work together.

    Args:
        samples: What each rail's sample gave. Not those of other ports.

    Returns:
        The sums of bytes and capacity; `value` is None when a rail's is, with the reason of the first such rail, though bytes
        are told where every rail's are. `missing` names the direction that wasn't measured on some rail: `value` is then a lower
        bound.
    """
    given = list(samples)
    rails = [sample for sample in given if sample.reason is not UnknownReason.PORT_NOT_ACTIVE]
    if not rails:
        return _nothing(given)
    tx = _sum([rail.tx_bytes_per_second for rail in rails])
    rx = _sum([rail.rx_bytes_per_second for rail in rails])
    link = _sum([rail.link_bytes_per_second for rail in rails])
    reason = next((rail.reason for rail in rails if rail.reason is not None), None)
    measured = [rate for rate in (tx, rx) if rate is not None]
    if reason is None and not measured:
        # One rail has one direction only, another has the other.
        reason = UnknownReason.NO_BYTE_COUNTER
    if reason is None and link is None:
        reason = UnknownReason.CAPACITY_UNKNOWN
    missing = None
    if reason is None and len(measured) == 1:
        missing = Direction.TX if tx is None else Direction.RX
    value = min(1.0, max(measured) / link) if reason is None and link is not None else None
    return Utilization(value, reason, tx, rx, link, _sources(rails), missing)


def busiest(samples: Iterable[Utilization]) -> Utilization:
    """Give the busiest of ports of which any may be the one that transfers use.

    Args:
        samples: What each port's sample gave. Leave out ports that can't be seen, such as those without byte counters: while one
            of these is unknown it might be the busiest.

    Returns:
        The sample with the highest value, the first of several; when one isn't down and unknown, that one. `missing` names the
        direction that wasn't measured on some port: that one may be busier, and `value` is then a lower bound.
    """
    given = list(samples)
    up = [sample for sample in given if sample.reason is not UnknownReason.PORT_NOT_ACTIVE]
    if not up:
        return _nothing(given)
    unknown = next((sample for sample in up if sample.value is None), None)
    if unknown is not None:
        return unknown
    most = max(up, key=lambda sample: sample.value or 0.0)
    missing = most.missing or next((sample.missing for sample in up if sample.missing is not None), None)
    return most if missing is most.missing else most._replace(missing=missing)


def _nothing(given: Sequence[Utilization]) -> Utilization:
    return Utilization(None, UnknownReason.PORT_NOT_ACTIVE if given else UnknownReason.PORT_MISSING)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _sources(rails: Sequence[Utilization]) -> str | None:
    names = dict.fromkeys(rail.source for rail in rails if rail.source is not None)
    return "+".join(names) or None

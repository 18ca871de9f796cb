"""What the series of one metric say of each rank: copies count once, parts add up, and nothing else is ever put together. Pure."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.sources._metrics_terms import Term
from loadmonitor_worker.sources._prom_text import MetricsReason, Sample
from loadmonitor_worker.sources._v1_loads import MOST_RANKS
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping


@dataclass(frozen=True, slots=True)
class Told:
    """What a metric says of a rank: its value, None when the engine doesn't know, and when by its own word, if at all."""

    value: float | None
    unix_ms: int | None


ByRank = Mapping[int | None, Told]
"""By data-parallel rank; under None what stands there without one."""

_LONGEST_LIST: Final = 3


def tell(
    samples: Iterable[Sample], term: Term, mapping: MetricsMapping, select: Mapping[str, str], *, adds: bool, where: str
) -> ByRank:
    """Return what a term says of each rank that the text shows it for.

    Args:
        samples: The series of the term's metric.
        term: The metric, which of its series, and whether a label holds the number.
        mapping: What its labels mean.
        select: What labels must be where a series has them.
        adds: Whether the values of parts add up; else the greatest counts.
        where: What was asked, for messages.

    Raises:
        SourceUnavailableError: One rank has series that differ in a label without a meaning (AMBIGUOUS).
        InvalidSnapshotError: A rank label holds no rank.
    """
    explained = {mapping.rank_label, *mapping.copies, *mapping.parts, *select, *(name for name, _ in term.match)}
    parts = sorted(mapping.parts)
    ranks: dict[int | None, dict[tuple[str, ...], dict[tuple[str, ...], float | None]]] = {}
    identities: dict[int | None, dict[str, str]] = {}
    times: dict[int | None, int] = {}
    for sample in samples:
        # An empty label is an absent one, in Prometheus.
        labels = {name: text for name, text in sample.labels.items() if text}
        if not _matches(labels, term, select):
            continue
        value = sample.value if term.label is None else _number(labels.get(term.label))
        rank = _rank(labels.get(mapping.rank_label or ""), mapping.rank_label, where)
        identity = {name: text for name, text in labels.items() if name not in explained}
        if term.label is None and identities.setdefault(rank, identity) != identity:
            raise _ambiguous(where, term, rank, identities[rank], identity)
        process = tuple(labels.get(name, "") for name in sorted(mapping.copies))
        part = tuple(labels.get(name, "") for name in parts)
        values = ranks.setdefault(rank, {}).setdefault(process, {})
        values[part] = _greatest([values[part], value]) if part in values else value
        if sample.unix_ms is not None:
            times[rank] = min(sample.unix_ms, times.get(rank, sample.unix_ms))
    return {
        rank: Told(
            _greatest([_whole(values, len(parts), adds=adds) for values in by_process.values()]), times.get(rank)
        )
        for rank, by_process in ranks.items()
    }


def _matches(labels: Mapping[str, str], term: Term, select: Mapping[str, str]) -> bool:
    return all(labels.get(name, "") == text for name, text in term.match) and all(
        labels.get(name, text) == text for name, text in select.items()
    )


def _whole(values: Mapping[tuple[str, ...], float | None], depth: int, *, adds: bool) -> float | None:
    """Put the parts of one process together, label by label: the series without the label is their sum already."""
    for position in reversed(range(depth)):
        grouped: dict[tuple[str, ...], dict[str, float | None]] = {}
        for key, value in values.items():
            grouped.setdefault(key[:position], {})[key[position]] = value
        values = {
            key: told[""] if "" in told else _sum(told.values()) if adds else _greatest(told.values())
            for key, told in grouped.items()
        }
    [whole] = values.values()
    return whole


def _sum(values: Collection[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def _greatest(values: Collection[float | None]) -> float | None:
    # One that isn't known might be the greatest.
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _number(text: str | None) -> float | None:
    """Return the number that is written in a label; engines write None where they have none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _rank(text: str | None, label: str | None, where: str) -> int | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_RANKS)) and int(text) < MOST_RANKS:
        return int(text)
    raise InvalidSnapshotError(
        f"{where} shows a series with {label}={text[:40]!r}, where a rank from 0 to {MOST_RANKS - 1} is expected",
        field="dp_rank",
    )


def _ambiguous(
    where: str, term: Term, rank: int | None, first: Mapping[str, str], second: Mapping[str, str]
) -> SourceUnavailableError:
    names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    shown = ", ".join(
        f"{name}={first.get(name, '')[:60]!r} and {second.get(name, '')[:60]!r}" for name in names[:_LONGEST_LIST]
    )
    of = "" if rank is None else f" for rank {rank}"
    return SourceUnavailableError(
        MetricsReason.AMBIGUOUS,
        f"{where} shows {term} more than once{of}, with {shown}: it is the text of several engines, or the label belongs to the "
        "mapping's copies or parts: ask one engine, or select one by its label",
    )

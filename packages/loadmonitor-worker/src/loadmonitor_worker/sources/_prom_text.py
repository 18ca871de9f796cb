"""The samples of a `/metrics` answer that somebody wants, read by prometheus_client. Pure.

Two text formats exist: the classic one, and OpenMetrics, which ends with `# EOF`. The Content-Type says which; where it names
neither, as a plain `text/plain` does, the last line tells. A text that claims to be OpenMetrics and doesn't end so was cut off.

Only the lines of wanted names reach the parser: an engine shows hundreds of histogram buckets beside a dozen gauges, and one
odd line among them says nothing about the gauges.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any, Final, TypeAlias

from loadmonitor_worker.errors import MissingExtraError, SourceUnavailableError

_OPENMETRICS_TYPE: Final = "application/openmetrics-text"
_END: Final = "# EOF"
_TOTAL: Final = "_total"
_EXEMPLAR: Final = " # {"


class MetricsReason(StrEnum):
    """Why a metrics text gives no load; HttpReason has the reasons of answers that are none."""

    BAD_TEXT = "bad_text"
    """No metrics text, or one that was cut off."""
    FAMILY_ABSENT = "family_absent"
    """A metric that is needed isn't there, for a rank or at all: that is no idle engine."""
    VALUE_UNKNOWN = "value_unknown"
    """A metric that is needed says that it doesn't know: NaN, or a negative number."""
    AMBIGUOUS = "ambiguous"
    """Several series for one rank: the text is that of several engines."""
    SLEEPING = "sleeping"
    """The engine sleeps: it shows no load and takes none."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series at one moment.

    Attributes:
        labels: Its labels, as they were written.
        value: Its value; None where the engine doesn't know it: NaN, infinite or negative.
        unix_ms: The time that the text gives it, in Unix milliseconds; None where it gives none, as engines don't.
    """

    labels: Mapping[str, str]
    value: float | None
    unix_ms: int | None


Samples: TypeAlias = Mapping[str, list[Sample]]
"""Samples by the name without colons (`plain_name`)."""


def plain_name(name: str) -> str:
    """Return a metric's name as a proxy without colons writes it; two names that differ only so are the same."""
    return name.replace(":", "_")


def prometheus_parsers(feature: str) -> tuple[Any, Any]:
    """Return prometheus_client's parsers for the classic text and for OpenMetrics, on behalf of `feature`.

    Raises:
        MissingExtraError: prometheus_client isn't installed.
    """
    try:
        classic, openmetrics = (
            import_module("prometheus_client.parser"),
            import_module("prometheus_client.openmetrics.parser"),
        )
    except ImportError as error:
        raise MissingExtraError(feature, "metrics") from error
    return classic.text_string_to_metric_families, openmetrics.text_string_to_metric_families


def lines_of(names: Collection[str]) -> re.Pattern[str]:
    """Return what finds the samples of some metrics in a text, each as its name and its whole line.

    Args:
        names: Names without colons; each also finds the same name with colons, and no longer one.
    """
    either = "|".join(name.replace("_", "[_:]") for name in sorted(names))
    return re.compile(rf"^([ \t]*({either})(?=[{{ \t]).*)$", re.MULTILINE)


def read_samples(
    body: bytes, content_type: str, wanted: re.Pattern[str], parsers: tuple[Any, Any], *, where: str
) -> Samples:
    """Return the samples of the wanted names.

    Args:
        body: The whole answer.
        content_type: What it claims to be; "" when it claims nothing.
        wanted: What `lines_of` returned.
        parsers: What `prometheus_parsers` returned.
        where: What was asked, for messages.

    Raises:
        SourceUnavailableError: It is no text in UTF-8, was cut off, or a wanted line can't be read; `reason` is MetricsReason.BAD_TEXT.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _bad(where, content_type, f"byte {error.start} of {len(body)} is not UTF-8") from None
    ended = text.rstrip().rpartition("\n")[2].strip() == _END
    openmetrics = _claims_openmetrics(content_type, ended=ended)
    if openmetrics and not ended:
        raise _bad(where, content_type, f"its last line is not {_END}, so it was cut off, or is another format")
    by_name: dict[str, list[str]] = {}
    for line, name in wanted.findall(text):
        by_name.setdefault(name, []).append(line)
    chosen = "\n".join([*_in_order(by_name), *([_END] if openmetrics else [])]) + "\n"
    samples: dict[str, list[Sample]] = {}
    try:
        for family in parsers[openmetrics](chosen):
            for sample in family.samples:
                samples.setdefault(plain_name(sample.name), []).append(_sample(sample))
    except (ValueError, TypeError, IndexError, KeyError) as error:
        # The parser raises all of these for odd lines. Its words quote at most a line of a wanted metric.
        raise _bad(where, content_type, str(error)[:200] or type(error).__name__) from error
    return samples


def _claims_openmetrics(content_type: str, *, ended: bool) -> bool:
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    if kind == _OPENMETRICS_TYPE:
        return True
    names_classic = kind == "text/plain" and any(parameter.startswith("version=") for parameter in parameters)
    return ended and not names_classic


def _in_order(by_name: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the lines of one metric after those of another, as OpenMetrics has it.

    Before a metric with an exemplar goes that it is a counter, or the parser would refuse it. The types that the text gives don't
    serve: prometheus_client writes `# TYPE vllm:x` over samples of `vllm_x`.
    """
    for name, lines in by_name.items():
        if any(_EXEMPLAR in line for line in lines):
            yield f"# TYPE {name.removesuffix(_TOTAL)} counter"
        yield from lines


def _sample(sample: Any) -> Sample:
    value = float(sample.value)
    unix_seconds = None if sample.timestamp is None else float(sample.timestamp)
    return Sample(
        sample.labels,
        value if math.isfinite(value) and value >= 0 else None,
        None if unix_seconds is None or not math.isfinite(unix_seconds) else math.floor(unix_seconds * 1_000),
    )


def _bad(where: str, content_type: str, fault: str) -> SourceUnavailableError:
    kind = f"of type {content_type[:60]!r}" if content_type else "without a type"
    return SourceUnavailableError(
        MetricsReason.BAD_TEXT, f"{where}: the answer {kind} is no metrics text that can be read: {fault}"
    )

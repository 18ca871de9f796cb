"""Chosen series of a `/metrics` text: classic Prometheus text (0.0.4) and OpenMetrics (1.0), each by its exact grammar. Pure.

An engine shows thousands of histogram buckets beside the two gauges that somebody asks for. So the text is searched for the names,
and only the lines that hold one are parsed: what stands on the others is nobody's business here, and costs nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from nic_metrics.errors import ExpositionError, ExpositionProblem

_OPENMETRICS_TYPE = "application/openmetrics-text"
_END = re.compile(rb"(?:\A|\n)# EOF\r?\n?\Z")
_METRIC = rb"[a-zA-Z_:][a-zA-Z0-9_:]*"
# Loops unrolled: no text, however odd, makes these patterns try the same piece twice.
_QUOTED = rb'"[^"\\\n]*(?:\\["\\n][^"\\\n]*)*"'
_NUMBER = rb"(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])"
_KEY = rb"(?:[a-zA-Z_][a-zA-Z0-9_]*|%s)" % _QUOTED
_HEAD = re.compile(rb"[ \t]*(?:(%s)|\{)" % _METRIC)
_ITEM = re.compile(rb"(%s)(?:[ \t]*=[ \t]*(%s))?" % (_KEY, _QUOTED))
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


def _labels(blank: bytes, last_comma: bytes) -> bytes:
    # A quoted text alone is the metric's name, which Prometheus 3 puts among the labels where it isn't of the old letters.
    item = rb"(?:%s%s=%s%s|%s)" % (_KEY, blank, blank, _QUOTED, _QUOTED)
    return rb"\{%s((?:%s(?:%s,%s%s)*%s%s)?)\}" % (blank, item, blank, blank, item, last_comma, blank)


_CLASSIC = re.compile(
    rb"[ \t]*(?:(?:(%s)[ \t]*)?%s[ \t]*|(%s)[ \t]+)(%s)(?:[ \t]+[+-]?[0-9]+)?[ \t]*\r?"
    % (_METRIC, _labels(rb"[ \t]*", rb"(?:[ \t]*,)?"), _METRIC, _NUMBER)
)
_OPENMETRICS = re.compile(
    rb"(?:(%s)?%s|(%s)) (%s)(?: %s)?(?: # %s %s(?: %s)?)?\r?"
    % (_METRIC, _labels(b"", b""), _METRIC, _NUMBER, _NUMBER, _labels(b"", b""), _NUMBER, _NUMBER)
)


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a metric, at the moment of the text.

    Attributes:
        name: The metric's name, as the text has it.
        labels: Its labels, unescaped.
        value: Its value; may be NaN or infinite.
    """

    name: str
    labels: Mapping[str, str]
    value: float


class SeriesFinder:
    """Finds the series of some metrics in metrics texts.

    Each name is found as it is given and with `_` in place of its colons, as proxies without colons write it; a longer name isn't.
    """

    def __init__(self, names: Collection[str]) -> None:
        """Name the metrics, such as `vllm:kv_cache_usage_perc`.

        Raises:
            ValueError: A name isn't made of ASCII letters, digits, `_` and `:`.
        """
        for name in names:
            if re.fullmatch(_METRIC, name.encode()) is None:
                raise ValueError(f"{name!r} is no metric's name: letters, digits, _ and : are allowed, no digit first")
        self._written = frozenset(form.encode() for name in names for form in (name, name.replace(":", "_")))
        # The part without colons stands in both forms; one that holds another is found with it.
        parts = {max(name.split(":"), key=len).encode() for name in names}
        self._needles = [part for part in parts if not any(other != part and other in part for other in parts)]

    def find(self, text: bytes, content_type: str = "") -> list[Series]:
        """Return the series, in the order of the text.

        The type tells which grammar holds: OpenMetrics, or classic text. Where it names neither, the last line does. Times that
        a text gives its samples are read over: engines give none.

        Args:
            text: The whole text.
            content_type: What it is said to be.

        Raises:
            ExpositionError: It is OpenMetrics and doesn't end as such, or a line that holds one of the names can't be read.
        """
        ended = _END.search(text, max(0, len(text) - 10)) is not None
        openmetrics = _is_openmetrics(content_type, ended=ended)
        if openmetrics and not ended:
            raise ExpositionError(ExpositionProblem.CUT_OFF, 1 + text.count(b"\n"), text[-_SHOWN:])
        grammar = _OPENMETRICS if openmetrics else _CLASSIC
        found = []
        for start in sorted(self._starts(text)):
            head = _HEAD.match(text, start)
            if head is None or (head[1] is not None and head[1] not in self._written):
                continue
            end = text.find(b"\n", start)
            line = text[start:] if end < 0 else text[start:end]
            try:
                series = _parse(line, grammar)
            except ValueError:
                if head[1] is None and not any(b'"%s"' % name in line for name in self._written):
                    continue
                raise ExpositionError(ExpositionProblem.BAD_LINE, 1 + text.count(b"\n", 0, start), line) from None
            if series.name.encode() in self._written:
                found.append(series)
        return found

    def _starts(self, text: bytes) -> set[int]:
        """Return where the lines start that hold a part of a name, wherever they hold it."""
        return {text.rfind(b"\n", 0, at) + 1 for needle in self._needles for at in _hits(text, needle)}


def _hits(text: bytes, needle: bytes) -> Iterator[int]:
    """Yield where a needle stands, once a line."""
    at = text.find(needle)
    while at >= 0:
        yield at
        end = text.find(b"\n", at)
        at = -1 if end < 0 else text.find(needle, end)


def _is_openmetrics(content_type: str, *, ended: bool) -> bool:
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    names_classic = kind == "text/plain" and any(parameter.startswith("version=") for parameter in parameters)
    return kind == _OPENMETRICS_TYPE or (ended and not names_classic)


def _parse(line: bytes, grammar: re.Pattern[bytes]) -> Series:
    """Read one line.

    Raises:
        ValueError: The line doesn't follow the grammar, names a label twice, has no name or two, or isn't UTF-8.
    """
    match = grammar.fullmatch(line)
    if match is None:
        raise ValueError
    names = [name.decode() for name in (match[1], match[3]) if name is not None]
    labels: dict[str, str] = {}
    for key, value in _ITEM.findall(match[2] or b""):
        if not value:
            names.append(_unquoted(key))
        elif (label := _unquoted(key) if key.startswith(b'"') else key.decode()) in labels:
            raise ValueError
        else:
            labels[label] = _unquoted(value)
    (name,) = names
    return Series(name, labels, float(match[4]))


def _unquoted(text: bytes) -> str:
    return _ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], text[1:-1].decode())


# Enough to recognise a line by, and not a log's page.
_SHOWN = 80

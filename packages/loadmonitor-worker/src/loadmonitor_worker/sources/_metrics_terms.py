"""The small language in which a mapping says where a value is found in a metrics text. Pure.

    reading = factor { "*" factor }
    factor  = number | field | metric
    metric  = name [ "{" label "=" '"' text '"' { "," … } "}" ] [ "[" label "]" ]

The braces choose series by their labels. The brackets take the number that is written in a label, as info metrics do. A field
is one of REFERABLE. A product is what engines leave to the reader: blocks times tokens a block, or a percentage times 0.01.
"""

import re
from dataclasses import dataclass
from typing import Final

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.sources._prom_text import plain_name

REFERABLE: Final = ("token_usage", "max_total_num_tokens", "max_running_requests")
"""The fields that a reading may name; they are read before the others."""

_LABEL: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_PAIR: Final = rf'\s*{_LABEL}\s*=\s*"[^"\\]*"\s*'
_FACTOR: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)"
    rf"|(?P<metric>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{{(?P<match>{_PAIR}(?:,{_PAIR})*)\}})?(?:\[(?P<label>{_LABEL})\])?)\s*"
)
_PAIRS: Final = re.compile(rf'(?P<name>{_LABEL})\s*=\s*"(?P<text>[^"\\]*)"')


@dataclass(frozen=True, slots=True)
class Term:
    """One metric, some of its series, or a number in one of its labels.

    Attributes:
        metric: Its name, as the engine writes it.
        match: What its labels must be; empty for every series.
        label: The label that holds the number, or None for the value of the series.
    """

    metric: str
    match: tuple[tuple[str, str], ...] = ()
    label: str | None = None

    def __str__(self) -> str:
        match = ",".join(f'{name}="{text}"' for name, text in self.match)
        return f"{self.metric}{f'{{{match}}}' if match else ''}{f'[{self.label}]' if self.label else ''}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to come by a field's value: the product of its terms, of other fields, and of a factor."""

    terms: tuple[Term, ...]
    fields: tuple[str, ...] = ()
    factor: float = 1.0

    @property
    def is_exact(self) -> bool:
        """Whether the engine says the value as it is, so that a count must be whole."""
        return len(self.terms) == 1 and not self.fields and self.factor == 1.0


def parse_reading(text: str, where: str) -> Reading:
    """Return what a reading means.

    Raises:
        ConfigError: It is none; the message names `where` it stands.
    """
    terms: list[Term] = []
    fields: list[str] = []
    factor, position = 1.0, 0
    while True:
        found = _FACTOR.match(text, position)
        if found is None or (found.end() < len(text) and text[found.end()] != "*"):
            raise ConfigError(
                f"{where}={text!r} can't be read at character {position if found is None else found.end()}: allowed are NAME, "
                'NAME{label="text"}, NAME[label] and numbers, with * between them'
            )
        if found["number"]:
            factor *= float(found["number"])
        elif found["metric"] in REFERABLE and not (found["match"] or found["label"]):
            fields.append(found["metric"])
        else:
            pairs = tuple((pair["name"], pair["text"]) for pair in _PAIRS.finditer(found["match"] or ""))
            terms.append(Term(found["metric"], pairs, found["label"]))
        if found.end() == len(text):
            break
        position = found.end() + 1
    if not (terms or fields):
        raise ConfigError(f"{where}={text!r} names no metric: give a number that is fixed as a setting of the source")
    if factor == 0:
        raise ConfigError(f"{where}={text!r} is always 0: leave the field out, unknown is not 0")
    return Reading(tuple(terms), tuple(fields), factor)


def plain_names(reading: Reading, prefix: str) -> set[str]:
    """Return the metrics that a reading needs, without colons, each after the prefix."""
    return {plain_name(prefix + term.metric) for term in reading.terms}

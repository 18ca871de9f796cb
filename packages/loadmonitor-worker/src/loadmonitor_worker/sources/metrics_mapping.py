"""Which metrics of an engine tell which field of its load: a declaration, in TOML, that users can write for their own engine."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._metrics_terms import REFERABLE, Reading, Term, parse_reading

SCHEMA: Final = "loadmonitor.metrics-mapping/1"
NEEDED: Final = ("num_running_reqs", "num_waiting_reqs")
"""Without these nothing is known of an engine's load."""
CAPACITIES: Final = ("max_total_num_tokens", "max_running_requests")
"""Without these a router can't use the load; where the engine doesn't tell them, its operator must."""

_FIELDS: Final = tuple(
    field.name for field in fields(RankSnapshot) if field.name not in {"dp_rank", "snapshot_time_unix_ms"}
)
_KEYS: Final = ("schema", "engine", "path", "rank_label", "copies", "parts", "awake", "optional", "fields")
_SHIPPED: Final = Path(__file__).with_name("mappings")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsMapping:
    """Where each field of a rank's load is found in an engine's metrics text.

    Attributes:
        engine: The engine's name, for people.
        readings: By field of RankSnapshot, the ways to read it; the first whose metrics the text holds is taken.
        path: What is asked below the engine's address.
        rank_label: The label that names the data-parallel rank; None for an engine that is one rank.
        copies: Labels of processes that all tell the same load: the greatest value counts, and nothing is added.
        parts: Labels that split a count: the series with an empty one is the sum, and without it the others add up. A ratio
            is never added; of its parts the greatest counts.
        awake: What is 0 while the engine sleeps, or None.
        optional: Fields that stay unknown where the text lacks them; every other one that is read must be there.
    """

    engine: str
    readings: Mapping[str, tuple[Reading, ...]]
    path: str = "/metrics"
    rank_label: str | None = None
    copies: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    awake: Term | None = None
    optional: frozenset[str] = frozenset()

    @classmethod
    def load(cls, name_or_path: str | Path) -> Self:
        """Return the mapping that is shipped under a name, such as "trtllm", or the one in a TOML file.

        Raises:
            ConfigError: There is none, or it isn't valid.
        """
        shipped = shipped_mappings()
        path = _SHIPPED / f"{name_or_path}.toml" if str(name_or_path) in shipped else Path(name_or_path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it isn't text"
            raise ConfigError(
                f"mapping={str(name_or_path)!r} can't be read: {reason}: give a file, or one of {', '.join(shipped)}"
            ) from None
        return cls.from_toml(text, where=str(name_or_path))

    @classmethod
    def from_toml(cls, text: str, *, where: str = "mapping") -> Self:
        """Return the mapping that a TOML text declares; docs/metrics-source.md describes it.

        Args:
            text: The text.
            where: Its name, for messages.

        Raises:
            ConfigError: It isn't valid; the message names the key, what it is and what is allowed.
        """
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{where} is no TOML: {error}") from None
        _check_names(document, _KEYS, where)
        if document.get("schema") != SCHEMA:
            raise ConfigError(f"{where}: schema={document.get('schema')!r} is not known: {SCHEMA!r} is")
        table = document.get("fields")
        if not isinstance(table, dict):
            raise ConfigError(
                f"{where}: fields={table!r} is not allowed: a table [fields] is, with a reading for each field"
            )
        _check_names(table, _FIELDS, f"{where}: [fields]")
        if missing := [field for field in NEEDED if field not in table]:
            raise ConfigError(f"{where}: [fields] lacks {' and '.join(missing)}: nothing is known of a load without")
        readings = {field: _readings(field, value, f"{where}: {field}") for field, value in table.items()}
        for reading in (reading for field, found in readings.items() for reading in found):
            if missing := [name for name in reading.fields if name not in (*readings, *CAPACITIES)]:
                raise ConfigError(f"{where}: a reading names {missing[0]}, which [fields] lacks: add it")
        path = _text(document, "path", where, default="/metrics")
        if not path.startswith("/") or not path.isascii() or any(sign in path for sign in " ?#\\"):
            raise ConfigError(f"{where}: path={path!r} is not allowed: one such as '/metrics' is")
        optional = _names(document, "optional", where)
        if wrong := sorted(optional - readings.keys() | optional & {*NEEDED, *CAPACITIES}):
            raise ConfigError(
                f"{where}: optional names {', '.join(wrong)}: allowed are fields of [fields] other than {', '.join((*NEEDED, *CAPACITIES))}"
            )
        rank_label = _text(document, "rank_label", where, default="") or None
        copies, parts = _names(document, "copies", where), _names(document, "parts", where)
        if twice := sorted(copies & parts | {rank_label} & (copies | parts), key=str):
            raise ConfigError(
                f"{where}: label {twice[0]!r} has two meanings: one of rank_label, copies and parts is allowed"
            )
        awake = _text(document, "awake", where, default="")
        return cls(
            engine=_text(document, "engine", where),
            readings=MappingProxyType(readings),
            path=path,
            rank_label=rank_label,
            copies=copies,
            parts=parts,
            awake=_only_term(parse_reading(awake, f"{where}: awake"), f"{where}: awake={awake!r}") if awake else None,
            optional=optional,
        )


def shipped_mappings() -> tuple[str, ...]:
    """Return the names of the mappings that come with this package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def _readings(field: str, value: object, where: str) -> tuple[Reading, ...]:
    given: list[object] = value if isinstance(value, list) else [value]
    texts = [text for text in given if isinstance(text, str)]
    if not texts or len(texts) != len(given):
        raise ConfigError(f"{where}={value!r} is not allowed: a reading is, such as 'name', or a list of them")
    readings = tuple(parse_reading(text, where) for text in texts)
    if field in REFERABLE and any(reading.fields for reading in readings):
        raise ConfigError(f"{where}={value!r} names another field: only metrics are allowed for {', '.join(REFERABLE)}")
    return readings


def _only_term(reading: Reading, where: str) -> Term:
    if not reading.is_exact:
        raise ConfigError(f"{where} is not allowed: a single metric is")
    return reading.terms[0]


def _text(document: Mapping[str, object], key: str, where: str, *, default: str | None = None) -> str:
    value = document.get(key, default)
    if not isinstance(value, str) or (key in document and not value):
        raise ConfigError(f"{where}: {key}={value!r} is not allowed: a text is")
    return value


def _names(document: Mapping[str, object], key: str, where: str) -> frozenset[str]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ConfigError(f"{where}: {key}={value!r} is not allowed: a list of names is")
    return frozenset(value)


def _check_names(table: Mapping[str, object], allowed: tuple[str, ...], where: str) -> None:
    for name in table:
        if name not in allowed:
            near = get_close_matches(name, allowed, n=1)
            meant = f"is {near[0]!r} meant?" if near else f"allowed are {', '.join(allowed)}"
            raise ConfigError(f"{where}: {name!r} is not known: {meant}")

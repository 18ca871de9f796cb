"""`nic-metrics serving-load`: the serving load that an engine's metrics tell."""

import os
import sys
from pathlib import Path
from typing import Annotated, TypedDict

from cyclopts import Parameter

from nic_metrics.cli._output import number, print_columns, print_json
from nic_metrics.cli._usage import UsageError, check_timeout, selected
from nic_metrics.errors import ScrapeError
from nic_metrics.scrape import MetricsUrl
from nic_metrics.serving_load import DEFAULT_PREFIXES, ServingLoad, ServingLoadReader
from nic_metrics.source_load import METRICS_URL_VARIABLE

SCHEMA = "nic-metrics.serving-load/1"
_TITLES = ("LOAD", "METRIC", "SERIES", "IGNORED", "REASON")


class _Found(TypedDict):
    load: float | None
    reason: str | None
    detail: str
    metric: str | None
    series: int | None
    ignored: int | None


def run_serving_load(
    *,
    url: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    engine: int | None = None,
    dp_rank: int | None = None,
    prefix: str | None = None,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 1.0,
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Print the serving load that an engine's metrics tell.

    Exits 1 when it is unknown, with the reason in the last column.

    Args:
        url: Address of the metrics; by default what MX_P2P_RUNTIME_METRICS_URL holds.
        file: A metrics text that was kept; - for standard input.
        engine: Count only series with this label `engine`.
        dp_rank: Count only series with this label `dp_rank`.
        prefix: What else may stand before the names of metrics.
        timeout_seconds: Longest time for the whole answer.
        json_lines: Print one JSON object.
    """
    prefixes = (*DEFAULT_PREFIXES, prefix) if prefix else DEFAULT_PREFIXES
    try:
        reader = ServingLoadReader(prefixes=prefixes, select=selected(engine, dp_rank))
    except ValueError as error:
        raise UsageError(f"--prefix: {error}") from None
    check_timeout(timeout_seconds)
    source, found = _read(reader, url, file, timeout_seconds)
    if json_lines:
        print_json(SCHEMA, {**found, "source": source})
    else:
        why = ": ".join(filter(None, (found["reason"], found["detail"])))
        cells = number(found["load"], 3), found["metric"] or "-", _count(found["series"]), _count(found["ignored"]), why
        print_columns(_TITLES, [cells])
    return int(found["load"] is None)


def _read(reader: ServingLoadReader, url: str | None, file: Path | None, timeout_seconds: float) -> tuple[str, _Found]:
    if url is not None and file is not None:
        raise UsageError("--url and --file are two sources: give one")
    if file is not None:
        return str(file), _found(reader.read(_contents(file)))
    address = url or os.environ.get(METRICS_URL_VARIABLE, "")
    if not address:
        raise UsageError(f"no source: give --url or --file, or set {METRICS_URL_VARIABLE}")
    try:
        text = MetricsUrl(address).fetch(deadline_seconds=timeout_seconds)
    except ScrapeError as error:
        return address, _Found(
            load=None, reason=error.problem, detail=str(error), metric=None, series=None, ignored=None
        )
    return address, _found(reader.read(text.body, text.content_type))


def _found(load: ServingLoad) -> _Found:
    return _Found(
        load=load.value,
        reason=load.reason,
        detail=load.detail,
        metric=load.metric,
        series=load.series,
        ignored=load.ignored,
    )


def _contents(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UsageError(f"--file {file} can't be read: {error.strerror}") from None


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)

"""Dashboard and alert rules: complete as documents, and every expression about series that the exporter really has."""

import json
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fleet_samples import everything
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from loadmonitor_router.export import FAMILIES, UID, FleetCollector, alert_rules, dashboard, make_registry
from loadmonitor_router.export._promql import selector
from loadmonitor_router.export.metrics import WORKERS

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")
FROM_THE_SCRAPE = {"namespace", "instance"}
FUNCTIONS = {"rate", "changes", "histogram_quantile", "label_values", "sum", "max", "min", "avg", "count"}
WORDS = {"by", "without", "and", "or", "unless", "on", "ignoring"}
VARIABLES = {"namespace", "model_name", "worker", "dp_rank"}

TOKEN = re.compile(
    r'(?P<string>"[^"]*")|(?P<range>\[[^\]]*\])|(?P<word>[a-zA-Z_:][\w:]*)|(?P<number>\d+(\.\d+)?)'
    r"|(?P<operator>=~|!~|!=|==|>=|<=|[-+*/<>=(){},])|(?P<space>\s+)"
)


class Use(NamedTuple):
    """A metric in an expression: its name, the labels it is matched by, the function around it."""

    name: str
    labels: frozenset[str]
    function: str


def tokens(expression: str) -> list[tuple[str, str]]:
    """Cut an expression up; anything that isn't PromQL of the simple kind used here fails."""
    found, position = [], 0
    while position < len(expression):
        match = TOKEN.match(expression, position)
        assert match is not None, f"{expression!r} is no PromQL at {expression[position:]!r}"
        if match.lastgroup != "space":
            kind = next(name for name in ("string", "range", "word", "number", "operator", "space") if match[name])
            if kind != "space":
                found.append((kind, match[0]))
        position = match.end()
    depth = [text for _, text in found if text in set("(){}")]
    for pair in ("()", "{}"):
        assert depth.count(pair[0]) == depth.count(pair[1]), f"unbalanced {pair} in {expression!r}"
    return found


def uses(expression: str) -> tuple[list[Use], set[str]]:
    """Return the metrics of an expression and the labels it groups by."""
    parts = tokens(expression)
    found: list[Use] = []
    grouped: set[str] = set()
    functions: list[str] = []
    index = 0
    while index < len(parts):
        kind, text = parts[index]
        following = parts[index + 1][1] if index + 1 < len(parts) else ""
        if text in {"by", "without"}:
            end = next(place for place in range(index, len(parts)) if parts[place][1] == ")")
            grouped |= {word for word_kind, word in parts[index:end] if word_kind == "word"} - {text}
            index = end
        elif kind == "word" and (following == "(" or following in WORDS) and text not in WORDS:
            assert text in FUNCTIONS, f"{text} is no function known here"
            functions.append(text)
        elif kind == "word" and text not in WORDS:
            labels: set[str] = set()
            if following == "{":
                end = next(place for place in range(index, len(parts)) if parts[place][1] == "}")
                labels = {word for word_kind, word in parts[index + 2 : end] if word_kind == "word"}
                index = end
            found.append(Use(text, frozenset(labels), functions[-1] if functions else ""))
        index += 1
    return found, grouped


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dashboard()["panels"]
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = alert_rules()["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> Iterator[str]:
    """Every expression of both documents, those of variables and annotations too."""
    for panel in panels():
        for target in panel.get("targets", []):
            yield target["expr"]
    for annotation in dashboard()["annotations"]["list"]:
        yield annotation["expr"]
    for rule in rules():
        yield rule["expr"]


def exported() -> dict[str, set[str]]:
    """The series of a real scrape: names of samples, with their labels."""
    snapshot, counts = everything()
    text = generate_latest(make_registry(FleetCollector(lambda: snapshot, lambda: counts))).decode()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


EXPORTED = exported()


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_an_expression_names_series_and_labels_that_the_exporter_has(expression: str) -> None:
    metrics, grouped = uses(expression)
    assert metrics
    for use in metrics:
        assert use.name in EXPORTED, f"{use.name} is not exported"
        assert use.labels <= EXPORTED[use.name] | {"namespace"}
    assert grouped <= set().union(*(EXPORTED[use.name] for use in metrics)) | FROM_THE_SCRAPE


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_counters_are_always_rated_and_gauges_never(expression: str) -> None:
    for use in uses(expression)[0]:
        is_counter = use.name.endswith(("_total", "_bucket", "_sum", "_count"))
        assert (use.function == "rate") is is_counter


def test_every_family_is_on_the_dashboard() -> None:
    shown = {use.name for expression in expressions() for use in uses(expression)[0]}
    assert {family.name for family in FAMILIES} == {name.removesuffix("_bucket") for name in shown}


def test_the_check_itself_finds_a_typo_a_wrong_label_and_broken_syntax() -> None:
    assert uses('sum by (worker) (rate(nobody_total{worker=~"a"}[5m]))') == (
        [Use("nobody_total", frozenset({"worker"}), "rate")],
        {"worker"},
    )
    with pytest.raises(AssertionError, match="no function"):
        uses("summ(x)")
    with pytest.raises(AssertionError, match="unbalanced"):
        uses("sum(x")
    with pytest.raises(AssertionError, match="no PromQL"):
        uses("sum(x) & 1")


def test_a_selector_refuses_a_label_that_the_family_has_not() -> None:
    with pytest.raises(ValueError, match="loadmonitor_router_workers has no label status; it has state"):
        selector(WORKERS, status="fresh")


def test_the_dashboard_is_what_grafana_imports() -> None:
    board = json.loads(json.dumps(dashboard(), allow_nan=False))
    assert board["uid"] == UID == "loadmonitor-overview"
    assert {"title", "schemaVersion", "version", "time", "refresh", "templating", "annotations", "panels"} <= set(board)
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert list(variables) == ["DS_PROMETHEUS", "namespace", "model_name", "worker", "dp_rank"]
    assert variables["DS_PROMETHEUS"]["type"] == "datasource"
    for name in VARIABLES:
        assert (variables[name]["multi"], variables[name]["includeAll"], variables[name]["allValue"]) == (
            True,
            True,
            ".*",
        )
        metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variables[name]["definition"], re.ASCII).groups()  # type: ignore[union-attr]
        (use,), _ = uses(metric)
        assert label == name
        assert use.name in EXPORTED
        assert name == "namespace" or name in EXPORTED[use.name]


def test_panels_have_titles_units_data_sources_and_places_that_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, f"{panel['title']} lies on another panel"
        assert place["x"] + place["w"] <= 24
        taken |= cells
        if panel["type"] == "row":
            continue
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${DS_PROMETHEUS}"}
    shown = [panel for panel in panels() if panel["type"] != "row"]
    assert len({panel["id"] for panel in panels()}) == len(panels())
    assert len({panel["title"] for panel in shown}) == len(shown)
    assert [panel["title"] for panel in panels() if panel["type"] == "row"] == ["Fleet", "Load", "Channel"]


def test_ratios_seconds_and_windows_are_in_grafanas_own_terms() -> None:
    units = {panel["title"]: panel["fieldConfig"]["defaults"]["unit"] for panel in panels() if panel["type"] != "row"}
    assert units["Token usage by rank"] == "percentunit"
    assert units["Delivery age"] == units["Worst report age"] == "s"
    for panel in panels():
        for target in panel.get("targets", []):
            assert re.findall(r"\[(.*?)\]", target["expr"]) in ([], ["$__rate_interval"])
            assert set(re.findall(r'"\$(\w+)"', target["expr"])) <= VARIABLES


def test_the_spread_of_the_ranks_is_longest_minus_shortest_queue() -> None:
    (panel,) = (panel for panel in panels() if panel["title"].startswith("Rank spread"))
    (target,) = panel["targets"]
    expression = re.sub(r"\{[^}]*\}", "", target["expr"])
    queues = "(max by (worker, dp_rank) (loadmonitor_engine_waiting_requests))"
    assert expression == f"max by (worker) {queues} - min by (worker) {queues}"


def test_each_alert_has_a_name_a_wait_a_severity_and_a_runbook() -> None:
    names = [rule["alert"] for rule in rules()]
    assert names == [
        "LoadMonitorAllStale",
        "LoadMonitorWorkerStale",
        "LoadMonitorReporterDown",
        "LoadMonitorRankImbalance",
        "LoadMonitorReportsDropped",
    ]
    for rule in rules():
        assert re.fullmatch(r"\d+m", rule["for"])
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_alert_texts_use_labels_that_their_expression_keeps() -> None:
    for rule in rules():
        metrics, dropped = uses(rule["expr"])
        kept = set().union(*(EXPORTED[use.name] for use in metrics)) - dropped | FROM_THE_SCRAPE
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["description"])) <= kept


def run(*arguments: str) -> Any:
    return json.loads(subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True).stdout)


def test_the_command_prints_the_dashboard_or_the_rules() -> None:
    assert run("dashboard") == dashboard()
    printed = run("dashboard", "--alerts", "--runbook", "https://runbooks.example/lm.md")
    assert (printed["apiVersion"], printed["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    first = printed["spec"]["groups"][0]["rules"][0]
    assert first["annotations"]["runbook_url"] == "https://runbooks.example/lm.md#loadmonitorallstale"

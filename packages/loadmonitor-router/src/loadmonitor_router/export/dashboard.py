"""The Grafana dashboard `loadmonitor-overview`, from the metric table."""

from collections.abc import Sequence
from typing import Any

from loadmonitor_router.age import Freshness
from loadmonitor_router.export import metrics
from loadmonitor_router.export._promql import selector
from loadmonitor_router.export.metrics import Family, Unit

UID = "loadmonitor-overview"
"""The dashboard's identity in Grafana: importing a newer one replaces the older."""

_DATASOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
_VARIABLES = ("namespace", "model_name", "worker", "dp_rank")
_UNITS = {
    Unit.REQUESTS: "short",
    Unit.TOKENS: "short",
    Unit.TOKENS_PER_SECOND: "suffix: tok/s",
    Unit.RATIO: "percentunit",
    Unit.SECONDS: "s",
    Unit.WORKERS: "none",
    Unit.REPORTS: "suffix: reports/s",
    Unit.EVENTS: "suffix: /s",
    Unit.FLAG: "none",
}
_COLOURS = {Freshness.FRESH: "green", Freshness.STALE: "yellow", Freshness.UNREACHABLE: "red", Freshness.MISSING: "red"}
_COLUMNS = 24
_Target = tuple[str, str]  # expression and legend


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, height, row in (("Fleet", 4, _fleet()), ("Load", 8, _load()), ("Channel", 8, _channel())):
        panels.append(
            {"type": "row", "title": title, "collapsed": False, "gridPos": {"h": 1, "w": _COLUMNS, "x": 0, "y": top}}
        )
        top += 1
        left = 0
        for panel, width in row:
            if left + width > _COLUMNS:
                left, top = 0, top + height
            panels.append({**panel, "gridPos": {"h": height, "w": width, "x": left, "y": top}})
            left += width
        top += height
    return {
        "uid": UID,
        "title": "LoadMonitor overview",
        "tags": ["loadmonitor", "inference"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_datasource_variable(), *map(_variable, _VARIABLES)]},
        "annotations": {"list": [_state_changes()]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, 1)],
    }


def _fleet() -> list[tuple[dict[str, Any], int]]:
    states = [
        (
            _stat(
                state.capitalize(), metrics.WORKERS, f"max({_select(metrics.WORKERS, state=state)})", _COLOURS[state]
            ),
            3,
        )
        for state in Freshness
    ]
    age, flag, info = metrics.REPORT_AGE, metrics.FAIL_OPEN, metrics.BUILD_INFO
    fail_open = _stat("Fail open", flag, f"max({_select(flag)})", "green")
    fail_open["fieldConfig"]["defaults"]["mappings"] = [
        {"type": "value", "options": {"0": {"text": "off"}, "1": {"text": "ACTIVE", "color": "red"}}}
    ]
    versions = _panel("table", "Versions", info, [(f"count by (version) ({_select(info)})", "{{version}}")])
    versions["targets"][0] |= {"instant": True, "format": "table"}
    return [
        *states,
        (_stat("Worst report age", age, f"max({_select(age)})", "blue"), 4),
        (fail_open, 3),
        (versions, 5),
    ]


def _load() -> list[tuple[dict[str, Any], int]]:
    waiting, usage = metrics.WAITING_REQUESTS, metrics.TOKEN_USAGE
    spread = f"max by (worker) ({_per_rank(waiting)}) - min by (worker) ({_per_rank(waiting)})"
    heatmap = _panel("heatmap", "Token usage by rank", usage, [(_per_rank(usage), "{{worker}} {{dp_rank}}")])
    heatmap["options"] = {"calculate": True, "yAxis": {"unit": _UNITS[usage.unit], "min": "0", "max": "1"}}
    return [
        (_by_worker("Running requests by worker", metrics.RUNNING_REQUESTS), 8),
        (_by_worker("Waiting requests by worker", waiting), 8),
        (_series("Rank spread: longest minus shortest queue", waiting, [(spread, "{{worker}}")]), 8),
        (heatmap, 8),
        (_by_worker("Waiting uncached tokens by worker", metrics.WAITING_UNCACHED_TOKENS), 8),
        (_by_worker("Queue pressure: slowest rank", metrics.QUEUE_PRESSURE, "max"), 8),
        (_by_worker("Generation by worker", metrics.GEN_THROUGHPUT), 8),
        (_by_worker("Prefill by worker", metrics.PREFILL_THROUGHPUT), 8),
        (_by_worker("Cache hit rate: mean of the ranks", metrics.CACHE_HIT_RATE, "avg"), 8),
    ]


def _channel() -> list[tuple[dict[str, Any], int]]:
    buckets = f"sum by (le) ({_rate(metrics.DELIVERY_AGE, '_bucket')})"
    ages = [
        (f"histogram_quantile({quantile}, {buckets})", legend) for quantile, legend in ((0.5, "p50"), (0.99, "p99"))
    ]
    sessions = [(f"max by (state) ({_select(metrics.SESSIONS)})", "{{state}}")]
    return [
        (_series("Delivery age", metrics.DELIVERY_AGE, ages), 8),
        (_series("Reports received", metrics.REPORTS, [(f"sum({_rate(metrics.REPORTS)})", "received")]), 8),
        (_rate_by("Reports dropped", metrics.DROPPED_REPORTS, "reason"), 8),
        (_rate_by("Reconnects", metrics.RECONNECTS, "reason"), 8),
        (_series("Sessions", metrics.SESSIONS, sessions), 8),
        (_rate_by("Picks", metrics.PICKS, "policy"), 8),
    ]


def _select(family: Family, suffix: str = "", **matchers: str) -> str:
    return selector(family, _VARIABLES, suffix=suffix, **matchers)


def _rate(family: Family, suffix: str = "") -> str:
    return f"rate({_select(family, suffix)}[$__rate_interval])"


def _per_rank(family: Family) -> str:
    """Return one value for each rank, however many routers export it."""
    return f"max by (worker, dp_rank) ({_select(family)})"


def _by_worker(title: str, family: Family, join: str = "sum") -> dict[str, Any]:
    return _series(title, family, [(f"{join} by (worker) ({_per_rank(family)})", "{{worker}}")])


def _rate_by(title: str, family: Family, label: str) -> dict[str, Any]:
    return _series(title, family, [(f"sum by ({label}) ({_rate(family)})", f"{{{{{label}}}}}")])


def _series(title: str, family: Family, targets: Sequence[_Target]) -> dict[str, Any]:
    panel = _panel("timeseries", title, family, targets)
    panel["fieldConfig"]["defaults"] |= {"min": 0, "custom": {"spanNulls": False, "fillOpacity": 10}}
    panel["options"] = {"tooltip": {"mode": "multi", "sort": "desc"}, "legend": {"showLegend": True}}
    return panel


def _stat(title: str, family: Family, expression: str, colour: str) -> dict[str, Any]:
    panel = _panel("stat", title, family, [(expression, title)])
    panel["fieldConfig"]["defaults"] |= {"color": {"mode": "fixed", "fixedColor": colour}}
    return panel


def _panel(kind: str, title: str, family: Family, targets: Sequence[_Target]) -> dict[str, Any]:
    return {
        "type": kind,
        "title": title,
        "description": family.help,
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": {"unit": _UNITS[family.unit], "noValue": "-"}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _DATASOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(targets)
        ],
    }


def _datasource_variable() -> dict[str, Any]:
    return {"name": "DS_PROMETHEUS", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(name: str) -> dict[str, Any]:
    family = metrics.BUILD_INFO if name == "namespace" else metrics.RUNNING_REQUESTS
    filters = () if name == "namespace" else _VARIABLES[: _VARIABLES.index(name)]
    query = f"label_values({selector(family, filters)}, {name})"
    return {
        "name": name,
        "type": "query",
        "datasource": _DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 3 if name == "dp_rank" else 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",  # also series without the label: outside Kubernetes there is no namespace
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _state_changes() -> dict[str, Any]:
    fresh = _select(metrics.WORKERS, state=Freshness.FRESH)
    return {
        "name": "Worker state changes",
        "enable": True,
        "iconColor": "orange",
        "datasource": _DATASOURCE,
        "expr": f"max by (instance) (changes({fresh}[$__rate_interval])) > 0",
        "titleFormat": "The number of fresh workers changed",
        "textFormat": "{{instance}}",
    }

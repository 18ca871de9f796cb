"""Alert rules for a fleet, as a PrometheusRule, from the metric table."""

from dataclasses import dataclass
from typing import Any

from loadmonitor_router.age import Freshness
from loadmonitor_router.export import metrics
from loadmonitor_router.export._promql import selector

DEFAULT_RUNBOOK = "docs/runbook.md"
"""Where the alerts are explained, from the root of this repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alert:
    name: str
    expression: str
    minutes: int
    severity: str
    summary: str
    description: str

    def rule(self, runbook: str) -> dict[str, Any]:
        return {
            "alert": self.name,
            "expr": self.expression,
            "for": f"{self.minutes}m",
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "runbook_url": f"{runbook}#{self.name.lower()}",
            },
        }


def _workers(*states: Freshness) -> str:
    return f"sum without (state) ({selector(metrics.WORKERS, state='|'.join(states))})"


_WAITING = selector(metrics.WAITING_REQUESTS)
_ALERTS = (
    _Alert(
        name="LoadMonitorAllStale",
        expression=f"{_workers(Freshness.FRESH)} == 0 and {_workers(*Freshness)} > 0",
        minutes=1,
        severity="critical",
        summary="No worker's load is fresh",
        description="{{ $labels.instance }} knows no load that it may act upon: it picks blindly or not at all.",
    ),
    _Alert(
        name="LoadMonitorWorkerStale",
        expression=f"{_workers(Freshness.STALE, Freshness.UNREACHABLE)} > 0",
        minutes=5,
        severity="warning",
        summary="Workers report, but not what may be acted upon",
        description="{{ $value }} workers of {{ $labels.instance }} have been stale or unreachable for 5 minutes.",
    ),
    _Alert(
        name="LoadMonitorReporterDown",
        expression=f"{_workers(Freshness.MISSING)} > 0",
        minutes=5,
        severity="warning",
        summary="Workers don't report",
        description="{{ $value }} workers of {{ $labels.instance }} have sent no report for 5 minutes.",
    ),
    _Alert(
        name="LoadMonitorRankImbalance",
        expression=f"max without (dp_rank) ({_WAITING}) - min without (dp_rank) ({_WAITING}) > 10",
        minutes=5,
        severity="warning",
        summary="One data-parallel rank is much busier than another",
        description="At {{ $labels.worker }} one rank's queue has been {{ $value }} requests longer than another's for 5 minutes.",
    ),
    _Alert(
        name="LoadMonitorReportsDropped",
        expression=f"sum without (reason) (rate({selector(metrics.DROPPED_REPORTS)}[5m])) > 0",
        minutes=5,
        severity="warning",
        summary="Reports break the contract",
        description="{{ $labels.instance }} has dropped reports for 5 minutes; the label reason of "
        f"{metrics.DROPPED_REPORTS.name} says why.",
    ),
)


def alert_rules(runbook: str = DEFAULT_RUNBOOK) -> dict[str, Any]:
    """Return the rules as a PrometheusRule, ready for `kubectl apply`; its `spec` is a rule file for Prometheus itself.

    Args:
        runbook: Address of the runbook; each alert's `runbook_url` is this with the alert's anchor.
    """
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "loadmonitor"},
        "spec": {"groups": [{"name": "loadmonitor", "rules": [alert.rule(runbook) for alert in _ALERTS]}]},
    }

from dataclasses import dataclass
from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.export import metrics as metrics
from loadmonitor_router.export._promql import selector as selector
from typing import Any

DEFAULT_RUNBOOK: str

@dataclass(frozen=True, slots=True, kw_only=True)
class _Alert:
    name: str
    expression: str
    minutes: int
    severity: str
    summary: str
    description: str
    def rule(self, runbook: str) -> dict[str, Any]: ...

def alert_rules(runbook: str = ...) -> dict[str, Any]: ...

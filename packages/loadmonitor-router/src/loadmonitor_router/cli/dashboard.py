"""`loadmonitor dashboard`: what shows the exported metrics, generated from their names."""

import json
import sys

from loadmonitor_router.export.alerts import DEFAULT_RUNBOOK, alert_rules
from loadmonitor_router.export.dashboard import dashboard as grafana_dashboard


def dashboard(
    *,
    alerts: bool = False,
    runbook: str = DEFAULT_RUNBOOK,
) -> int:
    """Print the Grafana dashboard of these metrics, or the alert rules.

    The dashboard is JSON to import. The rules are a PrometheusRule for
    kubectl apply -f -; its .spec is a rule file for Prometheus itself.

    Args:
        alerts: Print the alert rules instead.
        runbook: Address of the alerts' runbook; each alert's runbook_url is this and an anchor.
    """
    sys.stdout.write(json.dumps(alert_rules(runbook) if alerts else grafana_dashboard(), indent=2) + "\n")
    return 0

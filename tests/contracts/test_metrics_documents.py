"""docs/metrics.md and docs/runbook.md say what the code says."""

import re
import subprocess
import sys
from pathlib import Path

from gen_metrics import DOCUMENT
from loadmonitor_router.export import DEFAULT_RUNBOOK, ENGINE_FAMILIES, alert_rules

ROOT = Path(__file__).parents[2]
METRICS = (ROOT / "docs" / "metrics.md").read_text()


def test_the_table_of_metrics_is_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "gen_metrics.py"), "--check"]
    subprocess.run(script, check=True)


def test_a_changed_row_is_noticed_and_put_right() -> None:
    changed = METRICS.replace("Requests in the running batch.", "Something else.")
    assert changed != METRICS
    assert DOCUMENT.put_into(changed) == METRICS
    changed = METRICS.replace("Routers that are registered.", "Something else.")
    assert changed != METRICS
    assert DOCUMENT.put_into(changed) == METRICS


def test_the_names_of_engines_stand_in_the_document() -> None:
    for families in ENGINE_FAMILIES.values():
        row = f"| `{families.running.name}` | `{families.waiting.name}` | `{families.usage.name}` |"
        assert row in METRICS


def test_the_runbook_has_a_section_for_each_alert_and_no_other() -> None:
    sections = re.findall(r"^## (\w+)$", (ROOT / DEFAULT_RUNBOOK).read_text(), re.MULTILINE)
    (group,) = alert_rules()["spec"]["groups"]
    assert sections == [rule["alert"] for rule in group["rules"]]

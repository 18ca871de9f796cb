"""What `watch --json` prints: one object a line, of the schema loadmonitor.watch/1."""

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from loadmonitor_router.cli._view import WorkerView

SCHEMA = "loadmonitor.watch/1"


def timestamp(unix_ms: int) -> str:
    """Return RFC 3339 in UTC, with milliseconds."""
    return datetime.fromtimestamp(unix_ms / 1_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_line(shown: WorkerView) -> str:
    """Return one Worker as it stands; null is unknown, ages are rounded up."""
    age_ms = shown.assessment.age_ms
    return json.dumps(
        {
            "schema": SCHEMA,
            "time": timestamp(shown.unix_ms),
            "worker": shown.worker,
            "freshness": shown.assessment.freshness,
            "age_ms": None if age_ms is None else math.ceil(age_ms),
            "reason": shown.assessment.reason,
            "connection": shown.connection.state,
            "report": _report(shown),
        }
    )


def _report(shown: WorkerView) -> dict[str, Any] | None:
    if shown.report is None:
        return None
    report = asdict(shown.report)
    del report["receipt"]
    return report

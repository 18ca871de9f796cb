"""What the demonstration says at its end, and when it isn't satisfied."""

from collections import Counter
from dataclasses import replace

import pytest

from loadmonitor_router import Freshness
from loadmonitor_router.cli._record import Seen
from loadmonitor_router.cli._show import _tell

FRESH, STALE, MISSING = Freshness.FRESH, Freshness.STALE, Freshness.MISSING


def fleet() -> list[tuple[str, Seen]]:
    calm = Seen(Counter(REPORT_STATUS_HEALTHY=9), ["a"], {1, 2}, [FRESH], 0)
    frozen = replace(calm, verdicts=[FRESH, STALE, FRESH])
    restarted = replace(calm, verdicts=[FRESH, MISSING, FRESH], losses=1, instances=["a", "b"])
    return [("w:1", calm), ("w:2", frozen), ("w:3", restarted)]


def test_it_is_satisfied_by_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert _tell(fleet()) == 0
    assert "NOT SEEN" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("worker", "change", "missed"),
    [
        (0, {"running": {1}}, "load shifted"),
        (0, {"verdicts": [FRESH, STALE]}, "fresh throughout"),
        (1, {"verdicts": [FRESH, STALE]}, "frozen engine"),
        (2, {"instances": ["a"]}, "new instance"),
        (2, {"losses": 0}, "new instance"),
    ],
)
def test_what_was_not_seen_is_named_and_fails(
    worker: int, change: dict[str, object], missed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workers = fleet()
    address, seen = workers[worker]
    workers[worker] = (address, replace(seen, **change))  # type: ignore[arg-type]
    assert _tell(workers) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if "NOT SEEN" in line]
    assert missed in line

"""What a demonstration saw, told at its end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadmonitor_router.age import Freshness
from loadmonitor_router.cli._output import Output
from loadmonitor_router.cli._view import WorkerView
from loadmonitor_router.connection import ConnectionState


@dataclass(slots=True)
class Seen:
    """What was seen of one Worker.

    Attributes:
        reports: Reports by status.
        instances: Reporter instances in the order of their appearance.
        running: Different numbers of running requests.
        verdicts: Verdicts in the order of their change.
        losses: How often the connection was lost.
    """

    reports: Counter[str] = field(default_factory=Counter)
    instances: list[str] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    verdicts: list[Freshness] = field(default_factory=list)
    losses: int = 0


class Record:
    """An output that keeps what it shows, and shows it by another one."""

    def __init__(self, inner: Output) -> None:
        """Show by `inner`."""
        self._inner = inner
        self._last_sequence: dict[str, tuple[str, int]] = {}
        self._connected: dict[str, bool] = {}
        self.seen: dict[str, Seen] = {}

    def show(self, shown: WorkerView) -> None:
        """Keep and show."""
        seen = self.seen.setdefault(shown.worker, Seen())
        verdict = shown.assessment.freshness
        if not seen.verdicts or seen.verdicts[-1] is not verdict:
            seen.verdicts.append(verdict)
        connected = shown.connection.state is ConnectionState.REGISTERED
        if self._connected.get(shown.worker) and not connected:
            seen.losses += 1
        self._connected[shown.worker] = connected
        report = shown.report
        if report is not None:
            order = (report.source_instance_id, report.sequence_id)
            if self._last_sequence.get(shown.worker) != order:
                self._last_sequence[shown.worker] = order
                seen.reports[report.status] += 1
                seen.running.add(sum(rank.num_running_reqs for rank in report.ranks))
            if report.source_instance_id not in seen.instances:
                seen.instances.append(report.source_instance_id)
        self._inner.show(shown)

    def draw(self, views: Sequence[WorkerView], trouble: str | None, /) -> None:
        """Show."""
        self._inner.draw(views, trouble)

    def close(self) -> None:
        """Close the other output."""
        self._inner.close()

"""What became of a fault, step by step: asserted within its bound, timed, and kept for the table in docs/faults.md."""

import ast
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outcome_table import DOCS, OutcomeCase, OutcomeTable
from processes import Router, Worker

TABLE = OutcomeTable(
    document=DOCS / "faults.md",
    folder="faults",
    columns=(
        "Fault",
        "Then",
        "The router's snapshot says",
        "The worker says",
        "Bound, s",
        "Measured, s",
    ),
    measured=1,
)


@dataclass(slots=True)
class Step:
    """One outcome: what happened before, who said what, how soon it had to, how soon it did."""

    event: str
    router: str
    worker: str
    bound_seconds: float
    measured_seconds: float


@dataclass(slots=True)
class Case(OutcomeCase):
    """One fault and its outcomes."""

    name: str
    steps: list[Step] = field(default_factory=list)
    _event: str = ""
    _since: float = 0.0

    def happens(self, event: str) -> None:
        """Note that something is done now: what follows is timed from here."""
        self._event = event
        self._since = time.monotonic()

    @property
    def since_ns(self) -> int:
        """When the last event happened, on the machine's monotonic clock."""
        return int(self._since * 1e9)

    @asynccontextmanager
    async def outcome(self, *, router: str = "", worker: str = "", within: float) -> AsyncIterator[None]:
        """Keep an outcome that the block waits for and asserts; fail when it takes longer than `within` since the event."""
        assert self._event, "nothing has happened yet"
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(loop.time() + self._since + within - time.monotonic()):
            yield
        measured = time.monotonic() - self._since
        self.steps.append(Step(self._event, router, worker, within, measured))

    async def router_says(self, router: Router, freshness: str, reason: str = "", *, within: float) -> dict[str, Any]:
        """Wait until the router's snapshot says so, after the last event."""
        async with self.outcome(router=f"{freshness}: …{reason}…" if reason else freshness, within=within):
            return await router.says(freshness, reason, after_ns=self.since_ns)

    async def worker_says(
        self, worker: Worker, *registered: str, streams: int, within: float, note: str = ""
    ) -> dict[str, Any]:
        """Wait until the worker's table holds these sessions and so many streams, after the last event."""
        says = f"registered: {', '.join(registered) or 'nobody'}; streams: {streams}{note and f'; {note}'}"
        async with self.outcome(worker=says, within=within):
            return await worker.says(list(registered), streams, after_ns=self.since_ns)

    @property
    def table(self) -> OutcomeTable:
        """The table in docs/faults.md."""
        return TABLE

    def rows(self) -> list[str]:
        """Return the case's rows of the table."""
        lines = []
        for number, step in enumerate(self.steps):
            name = f"**{self.name}**" if number == 0 else ""
            event = step.event if number == 0 or self.steps[number - 1].event != step.event else ""
            measured = f"{step.measured_seconds:.1f}"
            lines.append(
                f"| {' | '.join((name, event, step.router, step.worker, f'{step.bound_seconds:g}', measured))} |"
            )
        return lines


def named() -> list[str]:
    """Return the name in every `pytest.mark.fault("...")` of this folder."""
    calls = [
        node
        for file in sorted(Path(__file__).parent.glob("test_faults_*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault"
    ]
    return [ast.literal_eval(call.args[0]) for call in calls]

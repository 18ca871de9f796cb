"""What became of a fault, step by step: asserted within its bound, timed, and kept for the table in docs/faults.md."""

import ast
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import Router, Worker

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"
BEGIN = "<!-- scripts/gen_faults.py writes what follows, from a run of tests/faults -->\n"
END = "<!-- up to here -->\n"
_HEAD = "| Fault | Then | The router's snapshot says | The worker says | Bound, s | Measured, s |"
_RULE = "|---|---|---|---|---|---|"


@dataclass(slots=True)
class Step:
    """One outcome: what happened before, who said what, how soon it had to, how soon it did."""

    event: str
    router: str
    worker: str
    bound_seconds: float
    measured_seconds: float

    def cells(self) -> tuple[str, ...]:
        """Return what must be the same in every run."""
        return (self.event, self.router, self.worker, f"{self.bound_seconds:g}")


@dataclass(slots=True)
class Case:
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


def rows(case: Case) -> list[str]:
    """Return the case's rows of the table."""
    lines = []
    for number, step in enumerate(case.steps):
        name = f"**{case.name}**" if number == 0 else ""
        event = step.event if number == 0 or case.steps[number - 1].event != step.event else ""
        measured = f"{step.measured_seconds:.1f}"
        lines.append(f"| {' | '.join((name, event, step.router, step.worker, f'{step.bound_seconds:g}', measured))} |")
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


def blocks(text: str) -> dict[str, list[str]]:
    """Return the rows of the table in a document by the name of their fault."""
    found: dict[str, list[str]] = {}
    lines = text.partition(BEGIN)[2].partition(END)[0].splitlines()
    for line in lines[lines.index(_RULE) + 1 :] if _RULE in lines else []:
        name = line.split("|")[1].strip().strip("*") if line else ""
        if name:
            found[name] = []
        if line:
            found[next(reversed(found))].append(line)
    return found


def recorded(text: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the outcomes in a document by the name of their fault: everything but the measured seconds."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, lines in blocks(text).items():
        found[name] = []
        event = ""
        for line in lines:
            _, _, then, *outcome, _, _ = (cell.strip() for cell in line.split("|"))
            event = then or event
            found[name].append((event, *outcome))
    return found


def write(cases: list[Case], document: Path, names: list[str]) -> None:
    """Put the rows of these cases into the document's table; of the others those stay that have one of these names."""
    before, _, rest = document.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    known = {**blocks(document.read_text()), **{case.name: rows(case) for case in cases}}
    table = "\n".join([_HEAD, _RULE, *(line for name in names for line in known.get(name, []))])
    document.write_text(f"{before}{BEGIN}\n{table}\n\n{END}{after}")

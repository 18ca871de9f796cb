"""Runs the conformance kit and prints a line for each clause as its result comes."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from loadmonitor_router.cli import _text
from loadmonitor_router.cli._process import stopping
from loadmonitor_router.conformance import ClauseResult, Outcome, check_worker
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.errors import LoadMonitorRouterError

SCHEMA = "loadmonitor.conformance/1"
_CLAUSE_WIDTH = len("CHANGE-1")
_OUTCOME_WIDTH = max(map(len, Outcome))
_COLOURS = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.NOT_OFFERED: "yellow",
    Outcome.NOT_TESTABLE: "dim",
}

Show = Callable[[ClauseResult], None]


async def judge_worker(
    worker: str,
    clauses: Sequence[str],
    *,
    frame_timeout_seconds: float,
    timeout_seconds: float,
    shut_down: str | None,
    as_json: bool,
    is_terminal: bool,
    credentials: Credentials,
) -> int:
    """Print what the kit says, and return the exit code.

    Raises:
        LoadMonitorRouterError: It took longer than `timeout_seconds`.
        ConfigError: The address isn't one, there is no such clause, or a token would be sent in plaintext to another machine.
        CredentialFileError: A file of the credentials can't be used.
        NoReporterError: No load reporter answers.
    """
    show = _json_line(worker) if as_json else _coloured() if is_terminal else _plain
    counts: Counter[Outcome] = Counter()
    turn = _Turn(on_terminal=sys.stderr.isatty())

    async def judge() -> None:
        order = None if shut_down is None else _shell(shut_down)
        results = check_worker(
            worker,
            clauses,
            timeout_seconds=frame_timeout_seconds,
            shut_down=order,
            credentials=credentials,
            progress=turn.comes,
        )
        async for result in results:
            counts[result.outcome] += 1
            turn.ends()
            show(result)

    with stopping() as stopped:
        judging = asyncio.create_task(judge())
        ends: set[asyncio.Future[Any]] = {judging, stopped}
        await asyncio.wait(ends, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        turn.ends()
        if not judging.done():
            judging.cancel()
            await asyncio.wait({judging})
            if stopped.done():
                return stopped.result()
            raise LoadMonitorRouterError(
                f"{worker}: not done within {timeout_seconds:g} s, {turn.place}: give --timeout more seconds, or --clause"
            )
    judging.result()
    if not as_json:
        _write(", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]))
    return int(bool(counts[Outcome.FAILED]))


class _Turn:
    """Whose turn it is, shown on a terminal's standard error until it ends."""

    def __init__(self, *, on_terminal: bool) -> None:
        self._on_terminal = on_terminal
        self.place = "before the first clause"

    def comes(self, clause: str, number: int, count: int) -> None:
        """Show it."""
        self.place = f"at {clause}, {number} of {count}"
        if self._on_terminal:
            sys.stderr.write(f"judging {clause}, {number} of {count}")
            sys.stderr.flush()

    def ends(self) -> None:
        """Show it no more."""
        if self._on_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _shell(command: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.DEVNULL)
        await process.wait()

    return run


def _json_line(worker: str) -> Show:
    def show(result: ClauseResult) -> None:
        line = {"clause": result.clause, "outcome": result.outcome, "expected": result.expected}
        _write(json.dumps({"schema": SCHEMA, "worker": worker, **line, "received": result.received}))

    return show


def _plain(result: ClauseResult) -> None:
    _write(f"{result.clause:<{_CLAUSE_WIDTH}}  {result.outcome:<{_OUTCOME_WIDTH}}  {_words(result)}")


def _coloured() -> Show:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs rich
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console()

    def show(result: ClauseResult) -> None:
        row = Table.grid(padding=(0, 2))
        row.add_column(width=_CLAUSE_WIDTH, no_wrap=True)
        row.add_column(width=_OUTCOME_WIDTH, no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(Text(result.clause), Text(result.outcome, style=_COLOURS[result.outcome]), Text(_words(result)))
        console.print(row)

    return show


def _words(result: ClauseResult) -> str:
    """Return what was received; of a clause that failed also what was expected."""
    received = _text.safe(result.received)
    if result.outcome is Outcome.FAILED:
        return f"expected {result.expected}; received {received}"
    return received


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

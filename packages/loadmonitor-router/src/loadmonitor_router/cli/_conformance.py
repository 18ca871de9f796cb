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
    timeout_seconds: float,
    shut_down: str | None,
    as_json: bool,
    is_terminal: bool,
    credentials: Credentials,
) -> int:
    """Print what the kit says, and return the exit code.

    Raises:
        ConfigError: The address isn't one, there is no such clause, or a token would be sent in plaintext to another machine.
        CredentialFileError: A file of the credentials can't be used.
        NoReporterError: No load reporter answers.
    """
    show = _json_line(worker) if as_json else _coloured() if is_terminal else _plain
    counts: Counter[Outcome] = Counter()

    async def judge() -> None:
        order = None if shut_down is None else _shell(shut_down)
        results = check_worker(
            worker, clauses, timeout_seconds=timeout_seconds, shut_down=order, credentials=credentials
        )
        async for result in results:
            counts[result.outcome] += 1
            show(result)

    with stopping() as stopped:
        judging = asyncio.create_task(judge())
        ends: set[asyncio.Future[Any]] = {judging, stopped}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            judging.cancel()
            await asyncio.wait({judging})
            return stopped.result()
    judging.result()
    if not as_json:
        _write(", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome]))
    return int(bool(counts[Outcome.FAILED]))


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

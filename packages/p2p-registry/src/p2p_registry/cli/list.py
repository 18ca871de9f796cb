"""`p2p-registry list`: the workers that a registry knows, once or as they change."""

import asyncio
import math
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import grpc.aio
from cyclopts import Parameter

from p2p_registry._health import PING_EVERY_SECONDS, PING_SECONDS
from p2p_registry.cli._connecting import NO_FLAGS, RegistryFlags
from p2p_registry.cli._looking import Look, Row
from p2p_registry.cli._output import number, print_columns, print_json, print_line
from p2p_registry.cli._stopping import stop_signals
from p2p_registry.errors import RegistryUnreachableError, SettingError
from p2p_registry.service import system_clock_ms

SCHEMA: Final = "p2p-registry.list/1"
_CERTAIN_SECONDS = PING_EVERY_SECONDS + PING_SECONDS
_TITLES = ("MODEL", "RANK", "WORKER", "STATUS", "LOAD", "HEARTBEAT", "NOTE")


def run_list(
    *,
    flags: RegistryFlags = NO_FLAGS,
    model: Annotated[str | None, Parameter(show_default=False)] = None,
    rank: Annotated[int | None, Parameter(show_default=False)] = None,
    watch: Annotated[bool, Parameter(name=["--watch", "-w"], negative="", show_default=False)] = False,
    interval_seconds: float = 2.0,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 10.0,
    json_lines: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False,
) -> int:
    """List the workers that a registry knows, those that pullers aren't shown too.

    What isn't known is "-", or null in JSON. With --watch runs until stopped:
    on a terminal as a table, elsewhere one line for each worker that comes,
    goes or changes its status or load. Exits 1 when the registry can't be
    reached, or when it lists nothing because its store doesn't answer.

    Args:
        flags: Which registry, and how this command and it know each other.
        model: Only workers of the model of exactly this name.
        rank: Only workers of this rank.
        watch: Go on, and show what changes.
        interval_seconds: With --watch the time between two looks, above 0.
        timeout_seconds: Longest that an answer may take, above 0.
        json_lines: Print one JSON object a worker, as `p2p-selection explain -` reads it.
    """
    for name, value in (("interval_seconds", interval_seconds), ("timeout", timeout_seconds)):
        if not 0 < value < math.inf:
            raise SettingError(name, value, "is not allowed: a number above 0 is")
    look = Look(flags, model, rank, timeout_seconds)
    if not watch:
        return asyncio.run(_once(look, json_lines=json_lines))
    live = sys.stdout.isatty() and not json_lines
    show = _Table() if live else _Changes(json_lines=json_lines)
    return asyncio.run(_watch(look, show, interval_seconds))


async def _once(look: Look, *, json_lines: bool) -> int:
    async with look.open() as channel:
        rows = await look.rows(channel)
        if not rows:
            fault = await look.fault(channel)
            sys.stderr.write(f"p2p-registry: {fault or 'no worker is registered that was asked for'}\n")
            return 0 if fault is None else 1
    if json_lines:
        for row in rows:
            print_json(SCHEMA, _fields(row))
    else:
        print_columns(_TITLES, [_cells(row, system_clock_ms()) for row in rows])
    return 0


async def _watch(look: Look, show: "_Changes | _Table", interval_seconds: float) -> int:
    async with stop_signals() as stopped, look.open() as channel:
        following = asyncio.create_task(_follow(look, channel, show, interval_seconds))
        following.add_done_callback(lambda _: stopped.put_nowait(1))
        code = await stopped.get()
        if following.done():
            following.result()
        following.cancel()
        await asyncio.wait({following})
        return code


async def _follow(look: Look, channel: grpc.aio.Channel, show: "_Changes | _Table", interval_seconds: float) -> None:
    rows: list[Row] = []
    any_at = time.monotonic()
    while True:
        try:
            newest = await look.rows(channel)
            fault = None if newest else await look.fault(channel)
        except RegistryUnreachableError as error:
            newest, fault = [], str(error)
        if newest:
            any_at = time.monotonic()
        # A store that fails lists nothing, too, and probes tell of it later: only then does nothing mean that all have gone.
        if fault is not None or newest or not rows or time.monotonic() - any_at > _CERTAIN_SECONDS:
            rows = newest if fault is None else rows
            show.show(rows, fault)
        sys.stdout.flush()
        await asyncio.sleep(interval_seconds)


class _Table:
    """Draws all over again each time."""

    def show(self, rows: Sequence[Row], fault: str | None) -> None:
        """Draw the workers; with a fault they are what was known before it."""
        sys.stdout.write("\x1b[H\x1b[J")
        sys.stdout.write(f"{len(rows)} workers\n" if fault is None else f"{fault}; what it last told:\n")
        print_columns(_TITLES, [_cells(row, system_clock_ms()) for row in rows])


class _Changes:
    """Prints a line for each worker that comes, goes or changes.

    While nothing is known nobody has come or gone; why that is goes to stderr, once.
    """

    def __init__(self, *, json_lines: bool) -> None:
        self._json_lines = json_lines
        self._rows: dict[tuple[str, str, int], Row] = {}
        self._fault: str | None = None

    def show(self, rows: Sequence[Row], fault: str | None) -> None:
        """Print what is other than it was."""
        if fault != self._fault:
            sys.stderr.write(f"p2p-registry: {fault or 'the registry answers again'}\n")
            self._fault = fault
        if fault is not None:
            return
        now = {row.key: row for row in rows}
        for key, row in now.items():
            before = self._rows.get(key)
            if before is None:
                self._print("came", row)
            elif (before.status, before.note, number(before.load, 2)) != (row.status, row.note, number(row.load, 2)):
                self._print("changed", row)
        for key, row in self._rows.items():
            if key not in now:
                self._print("gone", row)
        self._rows = now

    def _print(self, event: str, row: Row) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        gone = event == "gone"
        if self._json_lines:
            # What is gone has no status and no load any more.
            unknown = {"status": None, "source_load": None, "note": ""} if gone else {}
            print_json(SCHEMA, {"time": moment, "event": event, **_fields(row), **unknown})
            return
        model, rank, worker, status, load, _, note = _cells(row, 0)
        told = (worker, *(("-", "-", "") if gone else (status, load, note)))
        print_line((moment, event, model, rank, *told))


def _fields(row: Row) -> Mapping[str, object]:
    reference = row.reference
    return {
        "mx_source_id": reference.mx_source_id,
        "model_name": reference.model_name,
        "worker_id": reference.worker_id,
        "worker_rank": reference.worker_rank,
        "status": None if row.status is None else row.status.name,
        "source_load": row.load,
        "updated_at": reference.updated_at,
        "accelerator": reference.accelerator,
        "topology": dict(reference.topology),
        "training_step": reference.training_step if reference.HasField("training_step") else None,
        "layout_signature": reference.layout_signature if reference.HasField("layout_signature") else None,
        "note": row.note,
    }


def _cells(row: Row, now_ms: int) -> tuple[str, ...]:
    reference = row.reference
    # A registry's clock may be ahead of this machine's.
    age_seconds = max(0, now_ms - reference.updated_at) // 1_000
    return (
        reference.model_name,
        str(reference.worker_rank),
        reference.worker_id,
        "-" if row.status is None else row.status.name,
        number(row.load, 2),
        f"{age_seconds}s" if reference.updated_at > 0 else "-",
        row.note,
    )

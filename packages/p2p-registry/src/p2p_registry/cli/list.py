"""`p2p-registry list`: the workers that a registry knows, once or as they change."""

import asyncio
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import grpc.aio
from cyclopts import Parameter

from p2p_registry._health import HEALTH, HealthCheckRequest, HealthCheckResponse, ServingStatus
from p2p_registry.cli._connecting import NO_FLAGS, RegistryFlags
from p2p_registry.cli._output import number, print_columns, print_json, print_line
from p2p_registry.cli._stopping import stop_signals
from p2p_registry.errors import RegistryUnreachableError, SettingError
from p2p_registry.records import SourceStatus
from p2p_registry.server import SERVICE_NAME, RegistryStub
from p2p_registry.service import system_clock_ms
from p2p_registry.wire import ListSourcesRequest, SourceInstanceRef
from p2p_registry.wire import SourceStatus as WireStatus

SCHEMA: Final = "p2p-registry.list/1"
_TITLES = ("MODEL", "RANK", "WORKER", "STATUS", "LOAD", "HEARTBEAT", "NOTE")
_HIDDEN = "its last heartbeat is too old: pullers aren't shown it"


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
    look = _Look(flags, model, rank, timeout_seconds)
    if not watch:
        return asyncio.run(_once(look, json_lines=json_lines))
    live = sys.stdout.isatty() and not json_lines
    show = _Table() if live else _Changes(json_lines=json_lines)
    return asyncio.run(_watch(look, show, interval_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One worker, as it is shown.

    Attributes:
        reference: What the registry lists.
        status: Its status there.
        load: Its load where that is a number, else None.
        note: What is to be said of it, or "".
    """

    reference: SourceInstanceRef
    status: SourceStatus
    load: float | None
    note: str

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from all others."""
        return self.reference.mx_source_id, self.reference.worker_id, self.reference.worker_rank


class _Look:
    """Asks a registry for all of its workers."""

    def __init__(self, flags: RegistryFlags, model: str | None, rank: int | None, timeout_seconds: float) -> None:
        self._flags = flags
        self._model = model
        self._rank = rank
        self._timeout_seconds = timeout_seconds

    def open(self) -> grpc.aio.Channel:
        return self._flags.open_channel()

    async def rows(self, channel: grpc.aio.Channel) -> list[Row]:
        """Return the workers, in the order of model, rank and id.

        An entry of a listing doesn't tell its status, so each status is asked for. Who is in none of these lists was hidden from
        the READY one.

        Raises:
            RegistryUnreachableError: A call failed.
        """
        stub = RegistryStub(channel)
        wanted = [ListSourcesRequest(status_filter=WireStatus.Value(f"SOURCE_STATUS_{s.name}")) for s in SourceStatus]
        calls = [
            stub.ListSources(request, timeout=self._timeout_seconds) for request in (ListSourcesRequest(), *wanted)
        ]
        try:
            everyone, *by_status = await asyncio.gather(*calls)
        except grpc.aio.AioRpcError as error:
            raise RegistryUnreachableError(
                f"the registry at {self._flags.address()} can't be asked: {error.code().name}: {error.details()}"
            ) from None
        statuses = {
            _key(reference): status
            for status, answer in zip(SourceStatus, by_status, strict=True)
            for reference in answer.instances
        }
        rows = [
            _row(reference, statuses.get(_key(reference)))
            for reference in everyone.instances
            if self._model in {None, reference.model_name} and self._rank in {None, reference.worker_rank}
        ]
        return sorted(rows, key=lambda row: (row.reference.model_name, row.reference.worker_rank, row.key))

    async def fault(self, channel: grpc.aio.Channel) -> str | None:
        """Return why a registry that lists nothing may know more than that, or None; one that can't tell counts as well."""
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{HEALTH}/Check")
        asked = HealthCheckRequest(service=SERVICE_NAME).SerializeToString()
        try:
            status = HealthCheckResponse.FromString(await check(asked, timeout=self._timeout_seconds)).status
        except grpc.aio.AioRpcError:
            return None
        return "the registry's store doesn't answer" if status == ServingStatus.NOT_SERVING else None


def _key(reference: SourceInstanceRef) -> tuple[str, str, int]:
    return reference.mx_source_id, reference.worker_id, reference.worker_rank


def _row(reference: SourceInstanceRef, status: SourceStatus | None) -> Row:
    load, notes = None, []
    if not reference.HasField("source_load"):
        notes.append("load unknown: the worker doesn't tell one")
    elif not math.isfinite(reference.source_load):
        notes.append(f"load unknown: the worker tells {reference.source_load}")
    else:
        load = reference.source_load
        if not 0 <= load <= 1:
            notes.append("its load isn't from 0 to 1")
    if status is None:
        notes.insert(0, _HIDDEN)
    return Row(
        reference=reference,
        status=SourceStatus.READY if status is None else status,
        load=load,
        note="; ".join(notes),
    )


async def _once(look: _Look, *, json_lines: bool) -> int:
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


async def _watch(look: _Look, show: "_Changes | _Table", interval_seconds: float) -> int:
    async with stop_signals() as stopped, look.open() as channel:
        following = asyncio.create_task(_follow(look, channel, show, interval_seconds))
        following.add_done_callback(lambda _: stopped.put_nowait(1))
        code = await stopped.get()
        if following.done():
            following.result()
        following.cancel()
        await asyncio.wait({following})
        return code


async def _follow(look: _Look, channel: grpc.aio.Channel, show: "_Changes | _Table", interval_seconds: float) -> None:
    rows: list[Row] = []
    while True:
        try:
            newest = await look.rows(channel)
            fault = None if newest else await look.fault(channel)
        except RegistryUnreachableError as error:
            newest, fault = [], str(error)
        if fault is None:
            rows = newest
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
        "status": row.status.name,
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
        row.status.name,
        number(row.load, 2),
        f"{age_seconds}s" if reference.updated_at > 0 else "-",
        row.note,
    )

"""`router-lifecycle list`: the workers that a router lists, one line an entry."""

import json
import sys
from collections.abc import Iterable

from router_lifecycle import Worker, WorkerRow
from router_lifecycle.cli._session import SCHEMA, RouterFlags, Session, run_session

_TITLES = ("URL", "ID", "TYPE", "MODEL", "HEALTHY", "STATUS", "PRIORITY", "COST")


def list_workers(*, router_flags: RouterFlags) -> int:
    """Print the entries of a router's list, ranks one by one; what the router doesn't say is `-`, and null with --json.

    Args:
        router_flags: Which router.
    """

    async def steps(session: Session) -> int:
        async with session.client() as client:
            workers = await client.list_workers(timeout=session.timeout(30.0))
        sys.stdout.write(_lines(workers) if router_flags.json_lines else _table(_TITLES, map(_cells, _rows(workers))))
        return 0

    return run_session(router_flags, steps)


def _rows(workers: list[Worker]) -> list[WorkerRow]:
    return [row for worker in workers for row in worker.rows]


def _lines(workers: list[Worker]) -> str:
    return "".join(
        json.dumps(
            {
                "schema": f"{SCHEMA}.worker/1",
                "router": worker.router,
                "worker_url": worker.url,
                "routable": row.is_routable,
                **row.model_dump(mode="json", exclude={"job_status"}, include=set(WorkerRow.model_fields)),
            }
        )
        + "\n"
        for worker in workers
        for row in worker.rows
    )


def _cells(row: WorkerRow) -> tuple[object, ...]:
    health = None if row.is_healthy is None else "yes" if row.is_healthy else "no"
    return row.url, row.id, row.worker_type, row.model_id, health, row.status, row.priority, row.cost


def _table(titles: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Return lines of columns, unknown as `-`."""
    cells = [titles, *(tuple("-" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in cells
    )

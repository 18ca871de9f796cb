"""`router-lifecycle doctor`: what a router speaks, what that offers, and what was left behind there."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from router_lifecycle import RemovalHandle, normalize_worker_url
from router_lifecycle.cli._handles import read_handle
from router_lifecycle.cli._session import SCHEMA, Handle, RouterFlags, Session, UsageError, run_session
from router_lifecycle.diagnosis import Finding, diagnose
from router_lifecycle.dialects import Dialect

_ROUTERS = {
    "sync": "sglang-router up to 0.2.1, or another with /add_worker only",
    "url": "sglang-router 0.2.0 to 0.2.4",
    "uuid": "sglang-router 0.3.x",
    "smg": "SMG 1.x",
}


def doctor(*urls: str, router_flags: RouterFlags, handle: tuple[Path, ...] = ()) -> int:
    """Print the dialect of a router, what it offers, and leftovers with what to do; exits 1 when there are any.

    Only what is listed is looked at, and what is named: no router lists what is pending.

    Args:
        urls: Workers that may be pending, or have a failed job, without being listed.
        router_flags: Which router.
        handle: File with a handle, for the same and where ids are UUIDs; of a removal, to see whether the worker came back. May be
            repeated.
    """

    async def steps(session: Session) -> int:
        held: list[Handle] = [read_handle(path) for path in handle]
        named = [normalize_worker_url(url) for url in urls]
        async with session.client() as client:
            if wrong := [item.router for item in held if item.router != client.router_url]:
                raise UsageError(f"--handle of router {wrong[0]} is not allowed with --router {client.router_url}")
            dialect = await client.find_dialect(timeout=session.timeout(30.0))
            workers = await client.list_workers(timeout=session.timeout(30.0))
            targets = {worker.url: worker for worker in workers if _is_worker(worker.url)}
            observations = {
                url: await client.observe(target)
                for url, target in (dict.fromkeys(named) | targets | {item.url: item for item in held}).items()
                for target in (target or url,)
            }
        removed = frozenset(item.url for item in held if isinstance(item, RemovalHandle) and item.done)
        found = diagnose(dialect, workers, observations, removed=removed)
        routable = sum(worker.is_routable for worker in workers)
        summary = {"router": client.router_url, "dialect": dialect.name, "offers": offers(dialect)}
        counts = {"workers": len(workers), "routable": routable if dialect.names_listed_health else None}
        write = _write_json if router_flags.json_lines else _write_text
        write({**summary, **counts}, found)
        return 1 if found else 0

    return run_session(router_flags, steps)


def offers(dialect: Dialect) -> list[str]:
    """Return what can be asked of a router that speaks a dialect, and what can't, one sentence each."""
    updating = dialect.updating
    return [
        "submits with 202 and goes on by itself"
        if dialect.name != "sync"
        else "submits when the worker is active, a URL only",
        "finds a pending worker by its URL"
        if dialect.finds_by_url
        else "finds a pending worker by the id of its registration only: keep the handle",
        "records why a registration failed" if dialect.records_failures else "keeps no record of a failed registration",
        "drops the record of a running job after 300 s" if dialect.records_expire else "keeps records until jobs end",
        "tells health in its list"
        if dialect.names_listed_health
        else "tells no health: what is listed counts as routable",
        "can't update a worker in place"
        if updating is None
        else f"updates a worker in place ({updating.method}){', ranks too' if updating.reaches_ranks else ', no ranks'}",
    ]


def _is_worker(url: str) -> bool:
    try:
        return normalize_worker_url(url) == url
    except ValueError:
        return False


def _write_json(summary: dict[str, object], found: Sequence[Finding]) -> None:
    sys.stdout.write(json.dumps({"schema": f"{SCHEMA}.doctor/1", **summary, "findings": len(found)}) + "\n")
    for one in found:
        line = {"kind": one.kind, "worker_url": one.worker_url, "seen": one.seen, "advice": one.advice}
        sys.stdout.write(json.dumps({"schema": f"{SCHEMA}.finding/1", **line}) + "\n")


def _write_text(summary: dict[str, object], found: Sequence[Finding]) -> None:
    offered = summary["offers"]
    routable = "-" if summary["routable"] is None else summary["routable"]
    lines = [
        f"router    {summary['router']}",
        f"dialect   {summary['dialect']} ({_ROUTERS[str(summary['dialect'])]})",
        *(f"offers    {text}" for text in (offered if isinstance(offered, list) else ())),
        f"workers   {summary['workers']} listed, {routable} routable",
    ]
    for one in found:
        lines += [f"{one.kind:<14}{one.worker_url}  {one.seen}", f"      do: {one.advice}"]
    if not found:
        lines.append("leftovers none")
    sys.stdout.write("".join(f"{line}\n" for line in lines))

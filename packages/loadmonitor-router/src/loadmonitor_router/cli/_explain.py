"""Dials one Worker and writes down why it is included or not."""

import asyncio
import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from loadmonitor_router.cli._flags import in_flags
from loadmonitor_router.cli._process import own_router_id, quiet_library, stopping
from loadmonitor_router.cli._workers import make_monitor, named
from loadmonitor_router.connection import ConnectionState
from loadmonitor_router.credentials import Credentials
from loadmonitor_router.explanation import Explanation, explain
from loadmonitor_router.monitor import LoadMonitor
from loadmonitor_router.snapshot import WorkerLoad

_MARKS = {True: "ok", False: "fail", None: "-"}
_PACKAGES = ("loadmonitor-router", "loadmonitor-proto", "grpcio", "protobuf")


async def explain_worker(
    worker: str, *, timeout_seconds: float, report_interval_ms: int, lease_ttl_ms: int, credentials: Credentials
) -> tuple[int, str]:
    """Return the exit code and what to print.

    Raises:
        ConfigError: The address or a setting isn't allowed.
    """
    workers = named([worker])
    monitor = make_monitor(own_router_id("explain"), report_interval_ms, lease_ttl_ms, credentials)
    with quiet_library(), stopping() as stopped:
        async with monitor:
            monitor.reconcile(workers)
            hearing = asyncio.create_task(_hear(monitor))
            ends: set[asyncio.Future[Any]] = {hearing, stopped}
            await asyncio.wait(ends, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
            hearing.cancel()
            fleet = monitor.snapshot()
    if stopped.done():
        return stopped.result(), ""
    (load,) = fleet.workers.values()
    explanation = explain(load, fleet.taken_ns)
    wished = {
        "timeout_seconds": timeout_seconds,
        "report_interval_ms": report_interval_ms,
        "lease_ttl_ms": lease_ttl_ms,
    }
    return 0 if explanation.included else 1, f"{_hops(explanation)}\n{_block(load, wished)}"


async def _hear(monitor: LoadMonitor) -> None:
    """Wait until the Worker has reported, or refused for good."""
    async for fleet in monitor.changes():
        (load,) = fleet.workers.values()
        if load.report is not None or load.connection.state is ConnectionState.FAILED:
            return


def _hops(explanation: Explanation) -> str:
    verdict = "is included" if explanation.included else f"is excluded by {explanation.reason}"
    lines = [f"{explanation.url} {verdict}"]
    lines += [f"{_MARKS[hop.ok]:<4}  {hop.name:<10}  {in_flags(hop.text)}" for hop in explanation.hops]
    return "\n".join(lines) + "\n"


def _block(load: WorkerLoad, wished: dict[str, float]) -> str:
    """Return versions, settings and the last observation, to paste: nothing in it is secret."""
    versions = {name: version(name) for name in _PACKAGES}
    report = None if load.report is None else asdict(load.report)
    observed = {
        "freshness": load.freshness,
        "reason": load.reason,
        "age_ms": load.age_ms,
        "connection": load.connection.state,
        "last_error": load.connection.last_error,
        "received": load.connection.received,
        "dropped": dict(load.connection.dropped),
    }
    lines = [
        "--- to paste into a bug report",
        json.dumps({"python": platform.python_version(), "platform": platform.platform(), **versions}),
        json.dumps({"worker": load.target.reporter, **wished}),
        json.dumps(observed),
        json.dumps(report),
        "---",
    ]
    return "\n".join(lines) + "\n"

"""`loadmonitor explain`: why one Worker is included or left out."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_router.cli._checks import check_timeout
from loadmonitor_router.cli._security import NO_SECURITY, SecurityFlags


def explain(
    worker: str,
    /,
    *,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 5.0,
    report_interval_ms: int = 1_000,
    lease_ttl_ms: int = 15_000,
    security: SecurityFlags = NO_SECURITY,
) -> int:
    """Say why a Worker counts in a router's decisions, or doesn't.

    Dials its load reporter, waits for a report, and goes hop by hop from the
    connection to the ranks. Ends in a block to paste into a bug report.
    Exits 0 when the worker is included, else 1.

    Args:
        worker: Load reporter, as host:port or [ipv6]:port.
        timeout_seconds: How long to wait for the first report, in seconds.
        report_interval_ms: Wished time between two reports.
        lease_ttl_ms: Wished lease.
        security: How this command and the Workers know each other.
    """
    check_timeout(timeout_seconds)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._explain import explain_worker  # noqa: PLC0415

    code, text = asyncio.run(
        explain_worker(
            worker,
            timeout_seconds=timeout_seconds,
            report_interval_ms=report_interval_ms,
            lease_ttl_ms=lease_ttl_ms,
            credentials=security.credentials(),
        )
    )
    sys.stdout.write(text)
    return code

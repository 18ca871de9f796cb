"""`loadmonitor watch`: what the load reporters of some Workers say, as it comes."""

import os
import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from loadmonitor_router.cli._checks import check_timeout
from loadmonitor_router.cli._security import NO_SECURITY, SecurityFlags
from loadmonitor_router.errors import ConfigError

_DISCOVERED_WIDTH = len("255.255.255.255:50061")


def watch(
    *workers: str,
    discover: str | None = None,
    reporter_port: int | None = None,
    json: bool = False,
    once: bool = False,
    until: Literal["fresh"] | None = None,
    report_interval_ms: int = 1_000,
    lease_ttl_ms: int = 15_000,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 5.0,
    security: SecurityFlags = NO_SECURITY,
) -> int:
    """Show the load of Workers, live.

    On a terminal a table, elsewhere one line for each row that changed. What
    isn't known shows as "-" with the reason; so does everything of a Worker
    whose connection is lost. "fresh" means HEALTHY and younger than 3 s, or
    than two intervals where those are longer. Ages are upper bounds.

    With --once exits 0 when every Worker is fresh, else 1. With --until fresh
    exits 0 as soon as they all are, or 1 at the timeout. Otherwise runs until
    stopped, or exits 1 when every Worker has refused for good.

    With --discover Workers come and go while it runs, those that are gone
    leave at once, and a look that fails is told, on stderr or above the
    table, while the Workers found before stand.

    Args:
        workers: Load reporters, each as host:port or [ipv6]:port.
        discover: Instead of addresses where to find workers: file:PATH, dns:NAME:PORT, srv:NAME, k8s:NAMESPACE/LABEL=VALUE, router:URL or static:URL.
        reporter_port: With --discover the port of a load reporter, where what is found doesn't tell it; otherwise 50061.
        json: Print one JSON object a report.
        once: Print the first report of each Worker and exit.
        until: Wait until every Worker is fresh at once, showing what happens, and exit.
        report_interval_ms: Wished time between two reports of a Worker.
        lease_ttl_ms: Wished lease: a Worker that hears nothing for so long forgets this command.
        timeout_seconds: With --once how long to wait for the first reports, with --until for all of it, in seconds.
        security: How this command and the Workers know each other.
    """
    if once and until is not None:
        raise ConfigError(
            "--once and --until exclude each other: the one takes the first reports, the other waits for fresh ones"
        )
    check_timeout(timeout_seconds)
    # Before gRPC is imported: what it has to say about connections is in the reasons already.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._follow import Watch  # noqa: PLC0415
    from loadmonitor_router.cli._output import make_output  # noqa: PLC0415
    from loadmonitor_router.cli._workers import choose_workers  # noqa: PLC0415

    discovery = choose_workers("watch", workers, discover, reporter_port)
    width = max(map(len, workers), default=_DISCOVERED_WIDTH)
    output = make_output(as_json=json, is_terminal=sys.stdout.isatty(), live=not once, width=width)
    following = Watch(
        discovery,
        output,
        report_interval_ms=report_interval_ms,
        lease_ttl_ms=lease_ttl_ms,
        credentials=security.credentials(),
    )
    if once:
        return asyncio.run(following.first(timeout_seconds))
    if until == "fresh":
        return asyncio.run(following.until_fresh(timeout_seconds))
    return asyncio.run(following.forever())

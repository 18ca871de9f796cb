"""`loadmonitor watch`: what the load reporters of some Workers say, as it comes."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_router.errors import ConfigError


def watch(
    *workers: str,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    once: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    interval_ms: int = 1_000,
    lease_ttl_ms: int = 15_000,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 5.0,
) -> int:
    """Show the load of Workers, live.

    On a terminal a table, elsewhere one line for each row that changed. What
    isn't known shows as "-" with the reason; so does everything of a Worker
    whose connection is lost. "fresh" means HEALTHY and younger than 3 s, or
    than two intervals where those are longer. Ages are upper bounds.

    With --once exits 0 when every Worker is fresh, else 1. Otherwise runs
    until stopped, or exits 1 when every Worker has refused for good.

    Args:
        workers: Load reporters, each as host:port or [ipv6]:port.
        json: Print one JSON object a line, of the schema loadmonitor.watch/1.
        once: Print the first report of each Worker and exit.
        interval_ms: Wished time between two reports of a Worker.
        lease_ttl_ms: Wished lease: a Worker that hears nothing for so long forgets this command.
        timeout_seconds: With --once, how long to wait for the first reports.
    """
    if not workers:
        raise ConfigError("watch needs the address of a load reporter, such as 10.0.0.1:50061")
    if not timeout_seconds > 0:
        raise ConfigError(f"--timeout {timeout_seconds} is not allowed: a number of seconds above 0 is")
    # Before gRPC is imported: what it has to say about connections is in the reasons already.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._follow import Watch  # noqa: PLC0415
    from loadmonitor_router.cli._output import make_output  # noqa: PLC0415

    output = make_output(as_json=json, is_terminal=sys.stdout.isatty(), live=not once, width=max(map(len, workers)))
    following = Watch(workers, output, interval_ms=interval_ms, lease_ttl_ms=lease_ttl_ms)
    return asyncio.run(following.first(timeout_seconds) if once else following.forever())

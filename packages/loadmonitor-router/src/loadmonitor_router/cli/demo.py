"""`loadmonitor demo`: three workers on this machine, watched while their load shifts, one freezes and one dies."""

import os
import sys


def demo() -> int:
    """Watch three Workers made up on this machine for about 20 seconds.

    Simulated engines publish their load in files as SGLang does, and a sidecar
    beside each reports it. While the load shifts, one engine freezes, and one
    worker dies and starts again. Needs loadmonitor-worker[cli], no GPU. Exits
    0 when all of this was seen.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._show import run_show  # noqa: PLC0415

    return asyncio.run(run_show(is_terminal=sys.stdout.isatty()))

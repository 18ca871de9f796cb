"""`loadmonitor conformance`: whether a Worker keeps the contract, clause by clause."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_router.cli._checks import check_timeout
from loadmonitor_router.cli._security import NO_SECURITY, SecurityFlags


def conformance(
    worker: str,
    /,
    *,
    clause: tuple[str, ...] = (),
    json: bool = False,
    frame_timeout_seconds: Annotated[float, Parameter(name="--frame-timeout-seconds")] = 5.0,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = 300.0,
    shut_down: str | None = None,
    security: SecurityFlags = NO_SECURITY,
) -> int:
    """Judge a Worker by the clauses of the stream.

    Speaks bare frames to it and says of each clause: passed, failed, not
    offered (an extension, or a limit, that this worker doesn't have) or not
    testable from here, with what was received. Takes about 15 s, and says on
    a terminal's stderr whose turn it is. Opens up to 33 streams and sends thousands of frames: ask no worker that serves
    routers. Exits 0 when no clause failed, else 1.

    Args:
        worker: Load reporter, as host:port or [ipv6]:port.
        clause: Judge this clause only, such as OPEN-1; may be repeated.
        json: Print one JSON object a clause.
        frame_timeout_seconds: How long to wait for each frame that must come.
        timeout_seconds: How long the whole may take, in seconds.
        shut_down: Shell command that makes the worker shut down, such as 'kill -TERM 4711'; without it END-2 can't be tested.
        security: How this command and the Worker know each other.
    """
    check_timeout(timeout_seconds)
    check_timeout(frame_timeout_seconds, "--frame-timeout-seconds")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import asyncio  # noqa: PLC0415 - nothing of this is needed for --help

    from loadmonitor_router.cli._conformance import judge_worker  # noqa: PLC0415

    return asyncio.run(
        judge_worker(
            worker,
            clause,
            frame_timeout_seconds=frame_timeout_seconds,
            timeout_seconds=timeout_seconds,
            shut_down=shut_down,
            as_json=json,
            is_terminal=sys.stdout.isatty(),
            credentials=security.credentials(),
        )
    )

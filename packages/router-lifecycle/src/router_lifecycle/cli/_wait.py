"""`router-lifecycle wait`: goes on with what add, remove or replace began, from the handle that they printed."""

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from router_lifecycle import Phase, RemovalHandle, ReplacementHandle, RouterLifecycleClient
from router_lifecycle.cli._handles import read_any_handle, with_key
from router_lifecycle.cli._session import Handle, RouterFlags, Session, UsageError, run_session

REGISTER_SECONDS = 240.0
REMOVE_SECONDS = 60.0
REPLACE_SECONDS = 300.0


def wait(
    *,
    handle: Path,
    worker_key_file: Path | None = None,
    api_key_file: Path | None = None,
    timeout: float | None = None,
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Go on with what add, remove or replace began; its router is in the handle. Prints the handle as it is then.

    Nothing is submitted again: where the answer to the submission was lost, it is first found out what became of it. Of a replacement
    everything is done that is left, with the one submission if there was none yet.

    Args:
        handle: File with what the command printed; - for stdin.
        worker_key_file: File that holds the key that the new worker asks for; needed for a replacement that was stopped before it was
            submitted, since no handle holds a key.
        api_key_file: File that holds the router's own key.
        timeout: Bound of the whole command, in seconds: by default 240 for a registration, 60 for a removal and 300 for a
            replacement.
        json_lines: Print progress and errors as one JSON object a line, on stderr.
    """
    try:
        held = with_key(read_any_handle(handle), worker_key_file)
    except UsageError as error:
        sys.stderr.write(f"router-lifecycle: {error}\n")
        return 2

    async def steps(session: Session) -> int:
        async with session.client() as client:
            if isinstance(held, ReplacementHandle):
                await finish(client, session, held)
            else:
                session.handle = held
                await _go_on(client, session, held)
        return 0

    flags = RouterFlags(router=held.router, api_key_file=api_key_file, timeout=timeout, json_lines=json_lines)
    return run_session(flags, steps)


async def _go_on(client: RouterLifecycleClient, session: Session, held: Handle) -> None:
    if isinstance(held, RemovalHandle):
        await client.wait_until_absent(held, timeout=session.timeout(REMOVE_SECONDS))
        return
    if held.phase in (Phase.REMOVING, Phase.UNRESOLVED):
        await client.remove(held, timeout=session.timeout(REMOVE_SECONDS))
        return
    ends_at = time.monotonic() + session.timeout(REGISTER_SECONDS)
    if held.phase is Phase.SUBMISSION_UNKNOWN:
        await client.reconcile(held, timeout=session.timeout(REGISTER_SECONDS))
    await client.wait_until_active(held, timeout=max(0.001, ends_at - time.monotonic()))


async def finish(client: RouterLifecycleClient, session: Session, held: ReplacementHandle) -> None:
    """Do what is left of a replacement, and say what is left when that doesn't end well."""
    session.replacement = held
    try:
        await client.finish_replacement(held, timeout=session.timeout(REPLACE_SECONDS))
    except BaseException:
        if held.new.phase in (Phase.FAILED, Phase.LOST):
            again = f"add {held.new.url}" if held.is_in_place else f"replace {held.old.url} {held.new.url}"
            command = f"router-lifecycle {again}"
        else:
            key = " --worker-key-file FILE" if held.new.needs_key and held.new.phase is Phase.NEW else ""
            command = f"router-lifecycle wait --handle FILE{key}"
        session.say("left", f"{held.left}; `{command}` does it")
        raise
    session.replacement, session.handle = None, held.new

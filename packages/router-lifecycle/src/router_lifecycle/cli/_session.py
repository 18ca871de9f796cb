"""What the commands have in common: the router's address, progress and errors on stderr, the handle on stdout, Ctrl-C."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from pydantic import ValidationError

from router_lifecycle import (
    InvalidRouterURLError,
    InvalidWorkerURLError,
    LifecycleEvent,
    OperationError,
    RegistrationHandle,
    RemovalHandle,
    ReplacementHandle,
    RouterLifecycleClient,
    RouterLifecycleError,
)

Handle: TypeAlias = RegistrationHandle | RemovalHandle
AnyHandle: TypeAlias = Handle | ReplacementHandle
SCHEMA = "router-lifecycle"
INTERRUPTED = 130


class UsageError(Exception):
    """The arguments can't be used; the message says which, and what is allowed."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RouterFlags:
    """Which router, and how it is spoken to.

    Args:
        router: URL of the router, such as http://router:30000.
        api_key_file: File that holds the router's own key.
        timeout: Bound of the whole command, in seconds.
        json_lines: Print progress and errors as one JSON object a line, on stderr, and tables as one object a line, on stdout.
    """

    router: str
    api_key_file: Path | None = None
    timeout: float | None = None
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False


class Session:
    """One command's client, and what it has to tell."""

    def __init__(self, flags: RouterFlags) -> None:
        """Take the flags.

        Raises:
            UsageError: The timeout is out of range, or the file holds no key.
        """
        if flags.timeout is not None and not 0 < flags.timeout < float("inf"):
            raise UsageError(f"--timeout {flags.timeout:g} is not allowed: more than 0 seconds is")
        self._flags = flags
        self._api_key = read_key(flags.api_key_file, "--api-key-file")
        self.handle: Handle | None = None
        """What is printed in the end, so that `wait` can go on with it."""
        self.replacement: ReplacementHandle | None = None
        """What is printed in its stead, since it is a part of this."""

    def client(self) -> RouterLifecycleClient:
        """Return a client that tells this session what happens.

        Raises:
            InvalidRouterURLError: It is no URL of a router.
        """
        return RouterLifecycleClient(self._flags.router, api_key=self._api_key, on_event=self._tell)

    def timeout(self, default_seconds: float) -> float:
        """Return the bound of the command, in seconds."""
        return default_seconds if self._flags.timeout is None else self._flags.timeout

    def print_handle(self) -> None:
        """Print the handle, if there is one by now, as one line of JSON."""
        held = self.replacement or self.handle
        if held is not None:
            sys.stdout.write(f"{held.model_dump_json()}\n")
            sys.stdout.flush()

    def say(self, word: str, detail: str) -> None:
        """Say something that is no event of the client, on stderr."""
        if self._flags.json_lines:
            _to_stderr(json.dumps({"schema": f"{SCHEMA}.note/1", "note": word, "detail": detail}))
        else:
            _to_stderr(f"{word:<18}{'':9}  {detail}")

    def _tell(self, event: LifecycleEvent) -> None:
        self.handle = event.handle
        if self._flags.json_lines:
            line = json.dumps(
                {
                    "schema": f"{SCHEMA}.event/1",
                    "phase": event.phase,
                    "event": event.kind,
                    "router": event.router,
                    "worker_url": event.worker_url,
                    "elapsed_seconds": round(event.elapsed_seconds, 3),
                    "detail": event.detail,
                }
            )
        else:
            line = f"{event.kind:<18}{event.elapsed_seconds:8.2f}s  {event.detail}"
        _to_stderr(line)


def run_session(flags: RouterFlags, steps: Callable[[Session], Awaitable[int]]) -> int:
    """Carry out the steps of a command and return its exit code.

    0: done. 1: it did not end as asked. 2: the arguments can't be used. 130: stopped by Ctrl-C or SIGTERM. Whatever the end, the
    handle of the step that was under way is printed.
    """
    try:
        session = Session(flags)
        try:
            return asyncio.run(_interruptible(steps(session)))
        finally:
            session.print_handle()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, at['loc'])) or 'worker'}: {at['msg']}" for at in error.errors())
        return _failed(flags, "UsageError", wrong, 2)
    except (UsageError, InvalidRouterURLError, InvalidWorkerURLError) as error:
        return _failed(flags, type(error).__name__, str(error), 2)
    except OperationError as error:
        return _failed(flags, type(error).__name__, str(error), 1, safe_to_resubmit=error.safe_to_resubmit)
    except RouterLifecycleError as error:
        return _failed(flags, type(error).__name__, str(error), 1)
    except asyncio.CancelledError:
        return _failed(
            flags,
            "Interrupted",
            "interrupted; `router-lifecycle wait --handle FILE` goes on with the handle",
            INTERRUPTED,
        )


def read_key(path: Path | None, flag: str) -> str | None:
    """Return the key that a file holds, or None without a file.

    Raises:
        UsageError: The file can't be read, or holds no key.
    """
    if path is None:
        return None
    try:
        key = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{flag} {path} can't be read: {error}") from error
    if not key:
        raise UsageError(f"{flag} {path} is empty: it must hold the key")
    return key


async def _interruptible(steps: Awaitable[int]) -> int:
    """Await the steps, and cancel them on Ctrl-C and SIGTERM, so that the handle stays true."""
    task = asyncio.ensure_future(steps)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    return await task


def _failed(flags: RouterFlags, kind: str, message: str, code: int, *, safe_to_resubmit: bool | None = None) -> int:
    message = " ".join(message.split())
    if flags.json_lines:
        told = {"schema": f"{SCHEMA}.error/1", "error": kind, "message": message, "safe_to_resubmit": safe_to_resubmit}
        _to_stderr(json.dumps(told))
    else:
        _to_stderr(f"router-lifecycle: {message}")
    return code


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()

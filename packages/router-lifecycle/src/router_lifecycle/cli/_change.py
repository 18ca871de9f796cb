"""`router-lifecycle add`, `remove`, `replace` and `wait`: what changes a router, with the handle of it on stdout."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import SecretStr, TypeAdapter, ValidationError

from router_lifecycle import (
    OnExisting,
    Phase,
    RegistrationHandle,
    RemovalHandle,
    RouterLifecycleClient,
    WorkerSpec,
    WorkerType,
    normalize_worker_url,
)
from router_lifecycle.cli._session import Handle, RouterFlags, Session, UsageError, read_key, run_session

REGISTER_SECONDS = 240.0
REMOVE_SECONDS = 60.0
REPLACE_SECONDS = 300.0
_HANDLES: TypeAdapter[Handle] = TypeAdapter(RegistrationHandle | RemovalHandle)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFlags:
    """What the worker is.

    Args:
        worker_type: What it serves.
        bootstrap_port: Port of the KV hand-over; a prefill worker needs one.
        model_id: Name to list the model under; by default the one that the worker tells.
        worker_key_file: File that holds the key that the worker asks for.
        label: NAME=VALUE for the router's bookkeeping; may be repeated.
        priority: By default the router's, which is 50.
        cost: By default the router's, which is 1.
    """

    worker_type: WorkerType = "regular"
    bootstrap_port: int | None = None
    model_id: str | None = None
    worker_key_file: Path | None = None
    label: tuple[str, ...] = ()
    priority: int | None = None
    cost: float | None = None

    def spec(self, url: str) -> WorkerSpec:
        """Return the description of the worker at a URL.

        Raises:
            pydantic.ValidationError: A value is out of range, or doesn't go with another.
            UsageError: A label isn't NAME=VALUE, or the key can't be read.
        """
        pairs = [text.partition("=") for text in self.label]
        if wrong := [name + sign for name, sign, _ in pairs if not (name and sign)]:
            raise UsageError(f"--label {wrong[0]} is not allowed: NAME=VALUE is")
        key = read_key(self.worker_key_file, "--worker-key-file")
        return WorkerSpec(
            url=url,
            worker_type=self.worker_type,
            bootstrap_port=self.bootstrap_port,
            model_id=self.model_id,
            api_key=None if key is None else SecretStr(key),
            labels={name: value for name, _, value in pairs},
            priority=self.priority,
            cost=self.cost,
        )


_REGULAR = WorkerFlags()


def add(
    url: str,
    /,
    *,
    router_flags: RouterFlags,
    worker_flags: WorkerFlags = _REGULAR,
    on_existing: OnExisting = "fail",
) -> int:
    """Register a worker and return when it is routable, after 240 s by default at the latest.

    Prints the handle on stdout, also when it was stopped or the time was over: `wait` goes on with it.

    Args:
        url: The worker, such as http://10.0.0.1:30000.
        router_flags: Which router.
        worker_flags: What the worker is.
        on_existing: When the URL is registered or being registered: fail, adopt that one, or replace it.
    """

    async def steps(session: Session) -> int:
        spec = worker_flags.spec(url)
        async with session.client() as client:
            await client.register(spec, timeout=session.timeout(REGISTER_SECONDS), on_existing=on_existing)
        return 0

    return run_session(router_flags, steps)


def remove(url: str | None = None, /, *, router_flags: RouterFlags, handle: Path | None = None) -> int:
    """Remove a worker and return when nothing can bring it back, after 60 s by default at the latest.

    A worker that isn't there is removed already. Prints the handle of the removal on stdout.

    Args:
        url: The worker.
        router_flags: Which router.
        handle: File with what `add` printed (- for stdin), instead of the URL; needed for a worker that may still be pending, and
            for data-parallel ranks on sglang-router.
    """

    async def steps(session: Session) -> int:
        if (url is None) == (handle is None):
            raise UsageError("remove takes the URL of a worker, or --handle FILE, and not both")
        target = read_handle(handle) if handle is not None else normalize_worker_url(url or "")
        async with session.client() as client:
            _check_router(client, target)
            await client.remove(target, timeout=session.timeout(REMOVE_SECONDS))
        return 0

    return run_session(router_flags, steps)


def replace(old: str, new: str, /, *, router_flags: RouterFlags, worker_flags: WorkerFlags = _REGULAR) -> int:
    """Put one worker in the place of another: the new one is routable before the old one goes.

    On the same URL the old one is removed first. Takes 300 s by default at the most. Prints the new one's handle on stdout, or that
    of the step at which it was stopped; `wait` ends that step, and stderr says what is left to do then.

    Args:
        old: URL of the worker that goes.
        new: URL of the one that comes.
        router_flags: Which router.
        worker_flags: What the new one is.
    """

    async def steps(session: Session) -> int:
        going = normalize_worker_url(old)
        async with session.client() as client:
            coming = RegistrationHandle(router=client.router_url, spec=worker_flags.spec(new))
            try:
                await client.replace(going, coming, timeout=session.timeout(REPLACE_SECONDS))
            except BaseException:
                if going != coming.url and not isinstance(session.handle, RemovalHandle):
                    sys.stderr.write(f"not done           {going} is still registered: `router-lifecycle remove` it\n")
                elif going == coming.url and coming.phase is Phase.NEW:
                    sys.stderr.write(f"not done           {going} isn't registered anew: `router-lifecycle add` it\n")
                raise
            session.handle = coming
        return 0

    return run_session(router_flags, steps)


def wait(
    *,
    handle: Path,
    api_key_file: Path | None = None,
    timeout: float | None = None,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Go on with what add, remove or replace began; its router is in the handle. Prints the handle as it is then.

    Nothing is submitted again: where the answer to the submission was lost, it is first found out what became of it.

    Args:
        handle: File with what the command printed; - for stdin.
        api_key_file: File that holds the router's own key.
        timeout: Bound of the whole command, in seconds: by default 240 for a registration and 60 for a removal.
        json_lines: Print progress and errors as one JSON object a line, on stderr.
    """
    try:
        held = read_handle(handle)
    except UsageError as error:
        sys.stderr.write(f"router-lifecycle: {error}\n")
        return 2

    async def steps(session: Session) -> int:
        session.handle = held
        async with session.client() as client:
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


def read_handle(path: Path) -> Handle:
    """Return the handle that a file holds; - is stdin.

    Raises:
        UsageError: The file can't be read, or holds none.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--handle {path} can't be read: {error}") from error
    try:
        return _HANDLES.validate_json(text)
    except ValidationError as error:
        raise UsageError(
            f"--handle {path} holds no handle: give the JSON that add, remove or replace printed"
        ) from error


def _check_router(client: RouterLifecycleClient, target: Handle | str) -> None:
    if not isinstance(target, str) and target.router != client.router_url:
        raise UsageError(f"the handle belongs to router {target.router}, not to --router {client.router_url}")

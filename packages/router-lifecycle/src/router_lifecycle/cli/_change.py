"""`router-lifecycle add`, `remove` and `replace`: what changes a router, with the handle of it on stdout."""

from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter
from pydantic import SecretStr

from router_lifecycle import (
    OnExisting,
    RegistrationHandle,
    RemovalHandle,
    ReplacementHandle,
    RouterLifecycleClient,
    WorkerSpec,
    WorkerType,
    normalize_worker_url,
)
from router_lifecycle.cli._handles import read_handle
from router_lifecycle.cli._session import Handle, RouterFlags, Session, UsageError, read_key, run_session
from router_lifecycle.cli._wait import REGISTER_SECONDS, REMOVE_SECONDS, finish


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

    On the same URL the old one is removed first. Takes 300 s by default at the most. Prints the new one's handle on stdout; when it was
    stopped or the time was over, that of the whole replacement, and on stderr what is left: `wait` does it.

    Args:
        old: URL of the worker that goes.
        new: URL of the one that comes.
        router_flags: Which router.
        worker_flags: What the new one is.
    """

    async def steps(session: Session) -> int:
        async with session.client() as client:
            router = client.router_url
            going = RemovalHandle(router=router, url=normalize_worker_url(old))
            coming = RegistrationHandle(router=router, spec=worker_flags.spec(new))
            await finish(client, session, ReplacementHandle(router=router, old=going, new=coming))
        return 0

    return run_session(router_flags, steps)


def _check_router(client: RouterLifecycleClient, target: Handle | str) -> None:
    if not isinstance(target, str) and target.router != client.router_url:
        raise UsageError(f"the handle belongs to router {target.router}, not to --router {client.router_url}")

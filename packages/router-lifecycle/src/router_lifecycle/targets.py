"""What a caller may name a worker by, the handle that an operation makes of it, and what to do when it is there already."""

from typing import Literal, TypeAlias, get_args

from router_lifecycle.handle import RegistrationHandle, RemovalHandle
from router_lifecycle.models import Worker
from router_lifecycle.spec import WorkerSpec
from router_lifecycle.urls import normalize_worker_url

Target: TypeAlias = Worker | RegistrationHandle | RemovalHandle | WorkerSpec | str
"""What names a worker: what a call returned, a handle, a spec, or its URL."""

OnExisting: TypeAlias = Literal["fail", "adopt", "replace"]
"""What to do when the URL is registered, or being registered: raise, take that one over, or remove it first."""


def check_on_existing(on_existing: OnExisting) -> None:
    """Raise ValueError for another word: a misspelt "fail" must never become the removal of a worker."""
    if on_existing not in get_args(OnExisting):
        raise ValueError(f"on_existing={on_existing!r} is not allowed: give one of {', '.join(get_args(OnExisting))}")


def url_of(target: Target) -> str:
    """Return the worker's URL in canonical spelling.

    Raises:
        InvalidWorkerURLError: The target is a text that is no URL of a worker.
    """
    return normalize_worker_url(target) if isinstance(target, str) else target.url


def worker_id_of(target: Target) -> str | None:
    """Return the router's id of the worker, where the target tells one that stands for the whole worker."""
    if isinstance(target, str | WorkerSpec):
        return None
    if isinstance(target, Worker) and target.worker_id is None and target.rows and target.rows[0].rank is None:
        return target.rows[0].id
    return target.worker_id


def registration_of(router: str, worker: WorkerSpec | RegistrationHandle) -> RegistrationHandle:
    """Return the handle of a registration at a router.

    Raises:
        ValueError: The handle belongs to another router.
    """
    if isinstance(worker, WorkerSpec):
        return RegistrationHandle(router=router, spec=worker)
    _check_router(router, worker.router)
    return worker


def removal_of(router: str, target: Target) -> RemovalHandle:
    """Return the handle of a removal at a router.

    Raises:
        ValueError: The target belongs to another router.
        InvalidWorkerURLError: The target is a text that is no URL of a worker.
    """
    if isinstance(target, str | WorkerSpec):
        return RemovalHandle(router=router, url=url_of(target))
    _check_router(router, target.router)
    if isinstance(target, RemovalHandle):
        return target
    if isinstance(target, RegistrationHandle):
        return target.to_removal()
    return RemovalHandle(router=router, url=target.url, worker_id=worker_id_of(target))


def _check_router(own: str, other: str) -> None:
    if own != other:
        raise ValueError(f"this belongs to router {other}, and the client to {own}: use a client of that one")

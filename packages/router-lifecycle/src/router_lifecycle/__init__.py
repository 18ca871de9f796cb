"""The life of a worker at its router: so far, how a worker is described when it registers."""

from router_lifecycle.errors import InvalidWorkerURLError, RouterLifecycleError
from router_lifecycle.spec import WorkerSpec, WorkerType
from router_lifecycle.urls import normalize_worker_url, split_dp_rank

__all__ = [
    "InvalidWorkerURLError",
    "RouterLifecycleError",
    "WorkerSpec",
    "WorkerType",
    "normalize_worker_url",
    "split_dp_rank",
]

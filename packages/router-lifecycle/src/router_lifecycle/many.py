"""Registrations beside each other, with a result for each."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from router_lifecycle.errors import RouterLifecycleError
from router_lifecycle.models import Worker
from router_lifecycle.spec import WorkerSpec


@dataclass(frozen=True, slots=True)
class RegistrationResult:
    """What became of one of many workers; exactly one of `worker` and `error` is set.

    Attributes:
        url: URL of the worker.
        worker: As listed, when it is active.
        error: Why it isn't.
    """

    url: str
    worker: Worker | None = None
    error: RouterLifecycleError | None = None


async def register_beside(
    register: Callable[[WorkerSpec], Awaitable[Worker]], workers: Iterable[WorkerSpec], concurrency: int
) -> list[RegistrationResult]:
    """Register workers, so many at once, and return a result for each, in the order given.

    Args:
        register: Registers one.
        workers: What to register.
        concurrency: How many at once.

    Raises:
        ValueError: A URL is given twice, or concurrency is below 1.
    """
    specs = list(workers)
    if concurrency < 1 or len({spec.url for spec in specs}) < len(specs):
        raise ValueError(f"register_many takes each URL once, and a concurrency of 1 or more, not {concurrency}")
    turns = asyncio.Semaphore(concurrency)

    async def register_one(spec: WorkerSpec) -> RegistrationResult:
        async with turns:
            try:
                return RegistrationResult(spec.url, worker=await register(spec))
            except RouterLifecycleError as error:
                return RegistrationResult(spec.url, error=error)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(register_one(spec)) for spec in specs]
    return [task.result() for task in tasks]

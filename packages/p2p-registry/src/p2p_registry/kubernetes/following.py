"""Keeps a cache of all workers by a list and a watch."""

import asyncio
import logging
from contextlib import aclosing

from p2p_registry.errors import BackendError
from p2p_registry.kubernetes.api import EventType, ObjectApi, WatchEvent
from p2p_registry.kubernetes.cache import WorkerCache
from p2p_registry.kubernetes.objects import entry_of

_log = logging.getLogger(__name__)


class Follower:
    """Lists when somebody asks and nothing is being watched, then watches until that fails.

    So a failed watch costs one list at the next question, however many ask at once, and an API server that is away is asked no
    oftener than this is.
    """

    def __init__(self, api: ObjectApi, cache: WorkerCache, *, silence_seconds: float) -> None:
        """Fill `cache` from `api`; nothing is asked yet.

        Args:
            api: The API server.
            cache: What is kept up.
            silence_seconds: A watch that says nothing for so long, not even by a bookmark, counts as failed.
        """
        self._api = api
        self._cache = cache
        self._silence_seconds = silence_seconds
        self._starting: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._trouble: str | None = None

    async def catch_up(self) -> None:
        """Return when the cache is kept up by a watch.

        Raises:
            BackendError: Workers can't be listed.
        """
        if self._following is not None and not self._following.done():
            return
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(self._started)
        # Whoever gives up doesn't stop the others' list.
        await asyncio.shield(self._starting)

    async def aclose(self) -> None:
        """End the watch."""
        tasks = [task for task in (self._starting, self._following) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _start(self) -> None:
        listed = await self._api.list()
        self._cache.list(listed.version, [entry for each in listed.objects if (entry := entry_of(each)) is not None])
        self._following = asyncio.ensure_future(self._follow(listed.version))

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # told to those who wait, who may be gone

    async def _follow(self, version: int) -> None:
        try:
            async with aclosing(self._api.watch(version)) as events:
                while True:
                    async with asyncio.timeout(self._silence_seconds):
                        event = await anext(events)
                    self._take(event)
                    self._trouble = None
        except TimeoutError:
            self._tell(f"it said nothing for {self._silence_seconds:g} s")
        except (BackendError, StopAsyncIteration, KeyError, TypeError, ValueError) as error:
            self._tell(str(error) or type(error).__name__)

    def _tell(self, trouble: str) -> None:
        # Once, where a watch ends again before it said anything: an account without that right ends every one.
        if trouble != self._trouble:
            self._trouble = trouble
            _log.warning("the watch of workers ended, so the next question costs a list: %s", trouble)

    def _take(self, event: WatchEvent) -> None:
        version = int(event.object["metadata"]["resourceVersion"])
        if event.kind is EventType.BOOKMARK:
            self._cache.passed(version)
        elif event.kind is EventType.DELETED:
            self._cache.deleted(event.object["metadata"]["name"], version)
        elif (entry := entry_of(event.object)) is not None:
            self._cache.changed(entry)
        else:
            self._cache.deleted(event.object["metadata"]["name"], version)

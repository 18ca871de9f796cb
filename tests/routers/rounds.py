"""Plays scenarios against many routers beside each other, in one event loop of a thread, so that each test only looks at its own."""

import asyncio
import contextlib
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self, TypeAlias

from scenarios import SCENARIOS
from sites import FakeSite, Site, released
from trial import Trial, play

Key: TypeAlias = tuple[str, str]
"""Scenario and release."""


class Rounds:
    """What is played for some tests: everything is started at once, and waited for one by one."""

    def __init__(self, keys: Iterable[Key], folder: Path) -> None:
        self._keys = list(keys)
        self._folder = folder
        self.told: dict[str, Future[dict[str, Any]]] = {version: Future() for _, version in self._keys}
        self.real: dict[Key, Future[Trial]] = {key: Future() for key in self._keys}
        self.fake: dict[Key, Future[Trial]] = {key: Future() for key in self._keys}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._play()), name="routers")
        self._running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = Future()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        loop, playing = self._running.result()
        if not loop.is_closed():
            loop.call_soon_threadsafe(playing.cancel)
        self._thread.join()

    async def _play(self) -> None:
        # Every release comes here once its light scenarios are over.
        self._light_over = asyncio.Barrier(len(self.told))
        playing = asyncio.gather(*(self._release(version) for version in self.told))
        self._running.set_result((asyncio.get_running_loop(), playing))
        with contextlib.suppress(asyncio.CancelledError):
            await playing

    async def _release(self, version: str) -> None:
        keys = [key for key in self._keys if key[1] == version]
        keys.sort(key=lambda key: SCENARIOS[key[0]].bound_seconds, reverse=True)
        async with AsyncExitStack() as stack:
            sites: list[tuple[Site, dict[Key, Future[Trial]]]] = [(FakeSite(version, stack), self.fake)]
            try:
                real = await stack.enter_async_context(released(version, self._folder))
            except Exception as error:  # noqa: BLE001 - each test of the release tells it
                self.told[version].set_exception(error)
                for key in keys:
                    self.real[key].set_exception(error)
            else:
                self.told[version].set_result(real.told)
                sites.append((real, self.real))
            for is_heavy in (False, True):
                now = [key for key in keys if SCENARIOS[key[0]].is_heavy is is_heavy]
                await asyncio.gather(*(self._one(site, key, results[key]) for key in now for site, results in sites))
                if not is_heavy:
                    await self._light_over.wait()

    async def _one(self, site: Site, key: Key, result: Future[Trial]) -> None:
        scenario = SCENARIOS[key[0]]
        try:
            result.set_result(await play(site, scenario.flags, scenario.play, scenario.bound_seconds))
        except Exception as error:  # noqa: BLE001 - its test tells it
            result.set_exception(error)

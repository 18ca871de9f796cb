"""A worker registered at a router and removed again, here at the test kit's fake of sglang-router 0.3.2."""

import asyncio

import httpx

from router_lifecycle import HttpxTransport, RouterLifecycleClient, WorkerSpec
from router_lifecycle.testing import FakeEngine, FakeRouter, ManualClock

ROUTER, WORKER = "http://router:30000", "http://10.0.0.1:30000"


async def main() -> None:
    """Wait until the worker is routable, and until it is gone."""
    clock = ManualClock()
    fake = FakeRouter("0.3.2", engines=[FakeEngine(WORKER)], clock=clock)
    transport = HttpxTransport(ROUTER, client=httpx.AsyncClient(transport=httpx.ASGITransport(app=fake)))
    # At a real router it is RouterLifecycleClient(ROUTER), and calls are awaited as they are.
    async with RouterLifecycleClient(ROUTER, transport=transport, clock=clock, sleep=clock.sleep) as client:
        worker = await clock.run(client.register(WorkerSpec(url=WORKER), timeout=240))
        print(worker.url, "is routable" if worker.is_routable else "is not routable")
        await clock.run(client.remove(worker, timeout=60))
        print(await clock.run(client.list_workers()), "are left")


asyncio.run(main())

"""A worker registered at a router and removed again, here at the test kit's fake of sglang-router 0.3.2."""

import asyncio

import httpx

from router_lifecycle import HttpxTransport, RouterLifecycleClient, WorkerSpec
from router_lifecycle.testing import FakeEngine, FakeRouter, ManualClock


async def main() -> None:
    """Wait until the worker is routable, and until it is gone."""
    clock = ManualClock()
    router = FakeRouter("0.3.2", engines=[FakeEngine("http://10.0.0.1:30000")], clock=clock)
    transport = HttpxTransport(
        "http://router:30000", client=httpx.AsyncClient(transport=httpx.ASGITransport(app=router))
    )
    # At a real router: RouterLifecycleClient("http://router:30000", api_key=None)
    async with RouterLifecycleClient(
        "http://router:30000", transport=transport, clock=clock, sleep=clock.sleep
    ) as client:
        worker = await clock.run(client.register(WorkerSpec(url="http://10.0.0.1:30000"), timeout=240))
        print(worker.url, "is routable" if worker.is_routable else "is not routable")
        await clock.run(client.remove(worker, timeout=60))
        print(await clock.run(client.list_workers()), "are left")


asyncio.run(main())

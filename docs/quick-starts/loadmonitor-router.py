"""A router that looks at its fleet, here one worker of the test kit."""

import asyncio

from loadmonitor_router import LoadMonitor, WorkerTarget
from loadmonitor_router.testing import ScriptedWorker, wire_report


async def main() -> None:
    """Wait until the worker's load is fresh, and print it."""
    async with ScriptedWorker() as worker, LoadMonitor(router_id="router-a") as monitor:
        monitor.reconcile([WorkerTarget(url="http://10.0.0.1:30000", reporter=worker.address)])
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        async for snapshot in monitor.changes():
            load = snapshot.fresh_load("http://10.0.0.1:30000")  # None while it can't be acted upon
            if load is not None and load.aggregate is not None:
                print(load.freshness, load.aggregate.num_waiting_reqs)
                return


asyncio.run(main())

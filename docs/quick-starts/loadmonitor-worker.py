"""An engine that reports its load to every router that registers."""

import asyncio

from loadmonitor_worker import ReporterConfig, WorkerType, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource


async def engine() -> None:
    """Report made-up numbers of four ranks, then stop."""
    config = ReporterConfig(port=0, worker_addr="http://10.0.0.7:30000", worker_type=WorkerType.DECODE, model="m")
    reporter = await start_load_reporter(config, SyntheticSource(dp_size=4))
    if reporter is not None:  # None where the port is: reporting is off
        print("listening on", reporter.address)
        await reporter.close()


asyncio.run(engine())

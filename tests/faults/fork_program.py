"""A program that forks while, or after, it uses a LoadMonitor, a MonitorClient or a reporter; both halves tell what came of it."""

import asyncio
import json
import multiprocessing
import os
import sys
import time
from multiprocessing.context import ForkProcess

from loadmonitor_router import LoadMonitor, LoadMonitorRouterError, MonitorClient, WorkerTarget
from loadmonitor_worker import LoadReporterError, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

FORK = multiprocessing.get_context("fork")


def tell(who: str, said: str) -> None:
    """Print one line."""
    os.write(1, (json.dumps({"who": who, "said": said}) + "\n").encode())


async def watch(address: str) -> str:
    """Take two reports."""
    async with MonitorClient(address, router_id=f"r{os.getpid()}", report_interval_ms=50) as client:
        await anext(client)
        await anext(client)
    return "reports"


async def report() -> str:
    """Start a reporter and watch it."""
    reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    assert reporter is not None
    async with reporter:
        return await watch(reporter.address)


async def watch_fleet(address: str) -> str:
    """Watch with a monitor."""
    async with LoadMonitor(router_id=f"r{os.getpid()}") as monitor:
        monitor.reconcile([WorkerTarget(url="http://w:1", reporter=address)])
        while monitor.fresh_load("http://w:1") is None:
            await monitor.changed(monitor.snapshot().version)
    return "fresh"


def child(address: str) -> None:
    """Do everything that a child may try; tell what came of each."""
    uses = {"watch": watch(address), "watch_fleet": watch_fleet(address), "report": report()}
    for name, use in uses.items():
        try:
            tell(f"child: {name}", asyncio.run(use))
        except (LoadMonitorRouterError, LoadReporterError) as error:
            tell(f"child: {name}", type(error).__name__)


def child_with(client: MonitorClient) -> None:
    """Go on with the parent's client."""

    async def go_on() -> None:
        try:
            await anext(client)
        except LoadMonitorRouterError as error:
            tell("child: the parent's client", type(error).__name__)
        await client.close()

    asyncio.run(go_on())


async def wait_for(process: ForkProcess, client: MonitorClient | None) -> None:
    """Run the child; tell its exit code, and what the parent's own stream does meanwhile and afterwards."""
    process.start()
    while process.is_alive():
        await (asyncio.sleep(0.02) if client is None else anext(client))
    tell("child's exit code", str(process.exitcode))
    if client is not None:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            await anext(client)
        tell("parent", f"reconnects: {client.connection.reconnects}")


async def fork_while_open(address: str, *, iterate: bool) -> None:
    """Fork amid a stream."""
    async with MonitorClient(address, router_id="parent", report_interval_ms=50) as client:
        await anext(client)
        process = (
            FORK.Process(target=child_with, args=(client,)) if iterate else FORK.Process(target=child, args=(address,))
        )
        await wait_for(process, client)


async def fork_while_reporting() -> None:
    """Fork amid serving."""
    reporter = await start_load_reporter(ReporterConfig(port=0), SyntheticSource(1))
    assert reporter is not None
    async with reporter:
        await wait_for(FORK.Process(target=child, args=(reporter.address,)), None)
        tell("parent", await watch(reporter.address))


mode, address = sys.argv[1:]
if mode == "open":
    asyncio.run(fork_while_open(address, iterate=False))
elif mode == "iterate":
    asyncio.run(fork_while_open(address, iterate=True))
elif mode == "reporting":
    asyncio.run(fork_while_reporting())
else:
    asyncio.run(watch(address))
    asyncio.run(report())
    asyncio.run(wait_for(FORK.Process(target=child, args=(address,)), None))
    tell("parent", asyncio.run(watch(address)))

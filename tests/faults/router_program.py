"""A router as a process: one or many LoadMonitors that watch one address and tell what their snapshots say.

One JSON object for each change and each tenth of a second. On stdin: `leave` returns without leaving the monitors, `close`, or
the end, leaves them first.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack

from loadmonitor_router import Freshness, LoadMonitor, WorkerTarget

URL = "http://worker"


def tell(monitor: LoadMonitor) -> None:
    """Print one monitor's word on the worker."""
    load = monitor.snapshot().workers[URL]
    report = load.report
    line = {
        "ns": time.monotonic_ns(),
        "freshness": load.freshness,
        "reason": load.reason,
        "age_ms": load.age_ms,
        "instance": report and report.source_instance_id,
        "sequence": report and report.sequence_id,
        "reconnects": load.connection.reconnects,
        "received": load.connection.received,
        "last_error": load.connection.last_error,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def tell_herd(monitors: list[LoadMonitor]) -> None:
    """Print how many monitors call the worker what."""
    counts = Counter(monitor.snapshot().workers[URL].freshness for monitor in monitors)
    connections = [monitor.snapshot().workers[URL].connection for monitor in monitors]
    line = {
        "ns": time.monotonic_ns(),
        "freshness": f"{counts[Freshness.FRESH]} fresh",
        "reason": None,
        "reconnects": sum(connection.reconnects for connection in connections),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Watch until stdin ends or says so."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--router-id", default="r")
    parser.add_argument("--routers", type=int, default=1)
    parser.add_argument("--interval-ms", type=int, default=200)
    parser.add_argument("--lease-ms", type=int, default=15_000)
    parser.add_argument("--ping-ms", type=int)
    parser.add_argument("--no-acks", action="store_true")
    options = parser.parse_args()
    pings = None
    if options.ping_ms is not None:
        pings = {"grpc.keepalive_time_ms": options.ping_ms, "grpc.keepalive_timeout_ms": options.ping_ms}
    loop = asyncio.get_running_loop()
    words = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)
    async with AsyncExitStack() as stack:
        monitors = []
        for number in range(options.routers):
            monitor = LoadMonitor(
                router_id=f"{options.router_id}{number or ''}",
                report_interval_ms=options.interval_ms,
                lease_ttl_ms=options.lease_ms,
                max_unacked_reports=None if options.no_acks else 1,
                options=pings,
            )
            monitors.append(await stack.enter_async_context(monitor))
            monitor.reconcile([WorkerTarget(url=URL, reporter=options.address)])
        reading = loop.create_task(words.readline())
        while not reading.done():
            if options.routers > 1:
                tell_herd(monitors)
                await asyncio.wait([reading], timeout=0.2)
                continue
            tell(monitors[0])
            change = loop.create_task(monitors[0].changed(monitors[0].snapshot().version))
            await asyncio.wait([reading, change], timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
        if reading.result().strip() == b"leave":
            stack.pop_all()


asyncio.run(main())

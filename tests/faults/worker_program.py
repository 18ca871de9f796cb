"""A worker as a process: a load reporter in its engine's event loop, which tells its session table and obeys a few words.

The first line is `listening on HOST:PORT`; then one JSON object each tenth of a second. On stdin: `stall SECONDS` blocks the
event loop, `hang SECONDS` lets the engine leave reads unanswered, `leave` returns without closing the reporter.
"""

import argparse
import asyncio
import json
import sys
import time
from functools import partial

import loadmonitor_worker._server as server_module
from loadmonitor_proto.channel import server_options
from loadmonitor_worker import LoadReporter, RankSnapshot, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource


class Engine(SyntheticSource):
    """Made-up numbers that can be withheld."""

    def __init__(self, dp_size: int) -> None:
        super().__init__(dp_size)
        self.silent_until = 0.0

    async def get_loads(self) -> list[RankSnapshot]:
        await asyncio.sleep(self.silent_until - time.monotonic())
        return list(await super().get_loads())


def tell(reporter: LoadReporter) -> None:
    """Print who is registered."""
    table = reporter._server._monitor._table
    counters = reporter.counters
    line = {
        "ns": time.monotonic_ns(),
        "registered": sorted(table._registered),
        "streams": len(table.open_streams),
        "fires": counters.fires,
        "coalesced": counters.coalesced_reports,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Report until stdin ends or says so."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dp-size", type=int, default=1)
    parser.add_argument("--max-connection-age-ms", type=int)
    options = parser.parse_args()
    if options.max_connection_age_ms is not None:
        age = {
            "grpc.max_connection_age_ms": options.max_connection_age_ms,
            "grpc.max_connection_age_grace_ms": options.max_connection_age_ms,
        }
        vars(server_module)["server_options"] = partial(server_options, age)  # no setting of the reporter's
    engine = Engine(options.dp_size)
    reporter = await start_load_reporter(ReporterConfig(port=options.port, max_sessions=2_000), engine)
    assert reporter is not None
    sys.stdout.write(f"listening on {reporter.address}\n")
    loop = asyncio.get_running_loop()
    words = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(words), sys.stdin)
    reading = loop.create_task(words.readline())
    while True:
        tell(reporter)
        await asyncio.wait([reading], timeout=0.1)
        if not reading.done():
            continue
        word, _, seconds = reading.result().decode().strip().partition(" ")
        if word == "stall":
            time.sleep(float(seconds))  # noqa: ASYNC251 - this is the fault
        elif word == "hang":
            engine.silent_until = time.monotonic() + float(seconds)
        elif word == "leave":
            return
        else:
            await reporter.close()
            return
        reading = loop.create_task(words.readline())


asyncio.run(main())

"""gRPC's own `weighted_round_robin` balances two engines by what their reporters tell it out of band. In real time."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc.aio
import pytest

from loadmonitor_worker import RankSnapshot, ReporterConfig, WorkerState, start_load_reporter
from loadmonitor_worker.reporter import LoadReporter

WAIT_SECONDS = 40
EXPIRES_AFTER_SECONDS = 3.0
BALANCED = {
    "enableOobLoadReport": True,
    "oobReportingPeriod": "0.100s",
    "blackoutPeriod": "0s",
    "weightUpdatePeriod": "0.100s",
    "weightExpirationPeriod": f"{EXPIRES_AFTER_SECONDS}s",
}


class Engine:
    """A source whose rank has so many of its 1,000 request slots taken, in numbers that are as old as wanted."""

    def __init__(self, running: int) -> None:
        self.running = running
        self.frozen_unix_ms: int | None = None

    def expected_dp_ranks(self) -> frozenset[int]:
        return frozenset({0})

    async def get_loads(self) -> Sequence[RankSnapshot]:
        now_unix_ms = time.time_ns() // 1_000_000
        return [
            RankSnapshot(
                dp_rank=0,
                snapshot_time_unix_ms=now_unix_ms if self.frozen_unix_ms is None else self.frozen_unix_ms,
                num_running_reqs=self.running,
                max_total_num_tokens=100_000,
                max_running_requests=1_000,
            )
        ]


@dataclass
class Backend:
    """An engine's own gRPC server, with the reporter's ORCA service on the port that takes its requests."""

    engine: Engine
    reporter: LoadReporter
    address: str


@asynccontextmanager
async def serving(running: int) -> AsyncIterator[Backend]:
    engine = Engine(running)
    reporter = await start_load_reporter(ReporterConfig(port=0, orca_min_interval_ms=50), engine)
    assert reporter is not None
    async with reporter:
        server = grpc.aio.server()
        port = server.add_insecure_port("127.0.0.1:0")

        async def who(_request: bytes, _context: object) -> bytes:
            return str(port).encode()

        handlers: dict[str, Any] = {"Who": grpc.unary_unary_rpc_method_handler(who)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Engine", handlers),))
        reporter.add_orca_service(server)
        await server.start()
        try:
            yield Backend(engine, reporter, f"127.0.0.1:{port}")
        finally:
            await server.stop(None)


class Client:
    """A channel over several backends that leaves the choice to gRPC."""

    def __init__(self, channel: grpc.aio.Channel, backends: Sequence[Backend]) -> None:
        self._who: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/test.Engine/Who")
        self._backends = backends

    async def split(self, calls: int) -> list[int]:
        """Return how many of so many calls each backend got."""
        answers: Counter[bytes] = Counter()
        for _ in range(calls):
            answers[await self._who(b"", timeout=WAIT_SECONDS)] += 1
        return [answers[backend.address.rpartition(":")[2].encode()] for backend in self._backends]

    async def until_first_gets(self, least: int, most: int) -> None:
        """Call until the first backend gets so many of 100 calls, as its weight arrives with reports."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not least <= (await self.split(100))[0] <= most:
                pass


@asynccontextmanager
async def balanced(*running: int) -> AsyncIterator[tuple[Client, list[Backend]]]:
    """Yield a client of as many backends as there are loads."""
    async with AsyncExitStack() as stack:
        backends = [await stack.enter_async_context(serving(load)) for load in running]
        config = {"loadBalancingConfig": [{"weighted_round_robin": BALANCED}]}
        options = [("grpc.service_config", json.dumps(config)), ("grpc.use_local_subchannel_pool", 1)]
        target = "ipv4:" + ",".join(backend.address for backend in backends)
        yield Client(await stack.enter_async_context(grpc.aio.insecure_channel(target, options)), backends), backends


async def test_an_engine_at_a_tenth_gets_nine_calls_for_each_of_one_at_nine_tenths_until_it_is_stale() -> None:
    async with balanced(100, 900) as (client, (light, _)):
        await client.until_first_gets(88, 92)
        first, second = await client.split(1_000)
        assert first + second == 1_000
        assert first == pytest.approx(900, abs=30)
        # Its numbers stop: it was the better one, and nothing that it told may go on for longer than weights last.
        light.engine.frozen_unix_ms = 1
        frozen_at = time.monotonic()
        await client.until_first_gets(50, 50)
        assert time.monotonic() - frozen_at > EXPIRES_AFTER_SECONDS / 2
        assert (await client.split(1_000))[0] == pytest.approx(500, abs=5)


async def test_an_idle_engine_is_preferred_and_not_taken_for_one_that_tells_nothing() -> None:
    async with balanced(0, 90) as (client, _):
        await client.until_first_gets(88, 92)


async def test_a_draining_engine_gets_next_to_nothing_though_it_empties() -> None:
    async with balanced(0, 900) as (client, (draining, _)):
        await client.until_first_gets(95, 100)
        draining.reporter.set_worker_state(WorkerState.DRAINING)
        await client.until_first_gets(0, 2)


async def test_once_a_reporter_is_closed_calls_are_spread_evenly_again() -> None:
    async with balanced(100, 900) as (client, (light, _)):
        await client.until_first_gets(88, 92)
        await light.reporter.close()
        await client.until_first_gets(50, 50)

"""The client against a real gRPC server: the good days."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from loadmonitor_proto import KeepAlive, RouterFrame

from loadmonitor_router import ClientStateError, ConnectionState, MonitorClient
from loadmonitor_router.testing import ManualClock, ScriptedStream, ScriptedWorker, wire_report


@asynccontextmanager
async def registered(
    clock: ManualClock, *, extended: bool = True, **settings: Any
) -> AsyncIterator[tuple[MonitorClient, ScriptedStream]]:
    async with (
        ScriptedWorker() as worker,
        MonitorClient(worker.address, router_id="r", clock=clock, **settings) as client,
    ):
        stream = await worker.accept()
        await stream.acknowledge(extended=extended)
        yield client, stream


async def test_register_carries_the_settings(clock: ManualClock) -> None:
    async with registered(clock, report_interval_ms=250, lease_ttl_ms=9_000, max_unacked_reports=3) as (_, stream):
        register = stream.register
    assert (register.router_id, register.report_interval_ms, register.lease_ttl_ms) == ("r", 250, 9_000)
    assert register.max_unacked_reports == 3


@pytest.mark.clause("ACK-1")
async def test_a_report_is_acknowledged_when_it_is_handed_over(clock: ManualClock) -> None:
    async with registered(clock) as (client, stream):
        await stream.report(wire_report(7))
        report = await anext(client)
        assert report.sequence_id == 7
        assert await stream.receive() == RouterFrame(keep_alive=KeepAlive(acked_sequence_id=7))

"""What a monitor counts: reasons of a reconnect from real streams, and the histogram."""

import asyncio
import math

import grpc
import pytest

from loadmonitor_router import Connection, ConnectionState, MonitorClient
from loadmonitor_router.stats import Histogram, ReconnectReason
from loadmonitor_router.testing import ScriptedStream, ScriptedWorker


async def reason_of(misbehave: str) -> ReconnectReason:
    """Let a Worker misbehave; return why the client says it will dial again."""
    lost: asyncio.Queue[str | None] = asyncio.Queue()

    def note(connection: Connection) -> None:
        if connection.state is ConnectionState.BACKING_OFF:
            lost.put_nowait(connection.last_error)

    async with (
        ScriptedWorker(has_service=misbehave != "no service") as worker,
        MonitorClient(worker.address, router_id="r", ack_timeout_ms=200, on_connection=note),
    ):
        if misbehave != "no service":
            await play(await worker.accept(), misbehave)
        return ReconnectReason.of(await lost.get())


async def play(stream: ScriptedStream, misbehave: str) -> None:
    if misbehave == "silence":
        return
    await stream.acknowledge()
    if misbehave == "acknowledge twice":
        await stream.acknowledge()
    elif misbehave == "abort":
        await stream.end(grpc.StatusCode.INTERNAL, "bang")
    else:
        await stream.fail(misbehave)


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        ("silence", ReconnectReason.ACK_TIMEOUT),
        ("acknowledge twice", ReconnectReason.PROTOCOL_ERROR),
        ("abort", ReconnectReason.CONNECTION_LOST),
        ("no service", ReconnectReason.NO_SERVICE),
        ("SESSION_REPLACED", ReconnectReason.SESSION_REPLACED),
        ("LEASE_EXPIRED", ReconnectReason.LEASE_EXPIRED),
        ("RESOURCE_EXHAUSTED", ReconnectReason.RESOURCE_EXHAUSTED),
        ("SHUTTING_DOWN", ReconnectReason.SHUTTING_DOWN),
        ("A_WORD_OF_TOMORROW", ReconnectReason.CONNECTION_LOST),
    ],
)
async def test_a_loss_is_counted_under_its_reason(misbehave: str, reason: ReconnectReason) -> None:
    assert await reason_of(misbehave) is reason


async def test_a_black_hole_and_a_closed_port_are_told_apart() -> None:
    assert ReconnectReason.of("no connection within 2000 ms") is ReconnectReason.CONNECT_TIMEOUT
    assert ReconnectReason.of("UNAVAILABLE: Connection refused") is ReconnectReason.CONNECTION_LOST
    assert ReconnectReason.of(None) is ReconnectReason.CONNECTION_LOST


def test_a_histogram_counts_a_value_at_a_bound_below_it_and_one_beyond_all_bounds_last() -> None:
    histogram = Histogram((1.0, 2.0))
    assert histogram.cumulative() == [(1.0, 0), (2.0, 0), (math.inf, 0)]
    for value in (1.0, 1.5, 9.0):
        histogram.observe(value)
    assert histogram.cumulative() == [(1.0, 1), (2.0, 2), (math.inf, 3)]
    assert histogram.sum == 11.5

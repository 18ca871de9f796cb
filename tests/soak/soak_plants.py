"""Defects of the kind that grpc.aio punishes, planted in a process of a soak to show that the soak catches them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from types import TracebackType
from typing import Any

import grpc.aio

from loadmonitor_router._link import Link
from loadmonitor_worker._service import MonitorServicer


def cancel_reads_of_the_router() -> None:
    """Hang up as is often done: cancel the reading task, and close the channel at once.

    gRPC then keeps the connection: https://github.com/grpc/grpc/issues/42125.
    """

    async def leave(
        link: Link, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        if link._reader is not None:
            link._reader.cancel()
        await link._channel.close()
        await asyncio.wait({task for task in (link._connecting, link._reader) if task is not None})

    planted: Any = Link
    planted.__aexit__ = leave


def cancel_reads_of_the_worker() -> None:
    """End a stream by cancelling the read that is pending on it.

    gRPC then never frees what describes the read: https://github.com/grpc/grpc/issues/43360.
    """
    serve = MonitorServicer.Monitor

    async def monitor(
        servicer: MonitorServicer,
        request_iterator: AsyncIterator[Any],
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> None:
        reading = set(servicer.reading)
        try:
            await serve(servicer, request_iterator, context)
        finally:
            for task in servicer.reading - reading:
                task.cancel()

    planted: Any = MonitorServicer
    planted.Monitor = monitor


def intercept_streams() -> None:
    """Put an interceptor that does nothing on every channel: it costs tasks and queues for as long as a stream lives."""

    class Interceptor(grpc.aio.StreamStreamClientInterceptor):
        async def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
            return await continuation(details, requests)

    planted: Any = grpc.aio
    planted.insecure_channel = partial(grpc.aio.insecure_channel, interceptors=[Interceptor()])


PLANTS: dict[str, Callable[[], None]] = {
    "cancelled-read-router": cancel_reads_of_the_router,
    "cancelled-read-worker": cancel_reads_of_the_worker,
    "interceptor": intercept_streams,
}

"""Fakes for tests of programs that use this package, or that are Routers of their own.

`ScriptedWorker` is a real gRPC server on 127.0.0.1; what it says, and when, is up to the test. `ManualClock` moves by hand, so that
nothing has to be waited for. `wire_report` and `wire_rank` make messages that break no rule.

    async with ScriptedWorker() as worker, MonitorClient(worker.address, router_id="r") as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        report = await anext(client)
"""

from loadmonitor_router.testing.clock import ManualClock, settle
from loadmonitor_router.testing.messages import wire_rank, wire_report
from loadmonitor_router.testing.worker import ScriptedStream, ScriptedWorker

__all__ = ["ManualClock", "ScriptedStream", "ScriptedWorker", "settle", "wire_rank", "wire_report"]

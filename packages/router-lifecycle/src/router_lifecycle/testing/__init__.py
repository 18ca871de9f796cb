"""A fake router for tests: releases of sglang-router and SMG with their quirks, a clock in the test's hand, and faults to inject.

    clock = ManualClock()
    router = FakeRouter("0.3.2", engines=[FakeEngine("http://10.0.0.1:30000")], clock=clock)
    transport = httpx.ASGITransport(app=router)

`router_lifecycle.testing.serving.serve` puts it on a real socket.
"""

from router_lifecycle.testing._state import RegistryEvent, RouterOptions
from router_lifecycle.testing.clock import ManualClock
from router_lifecycle.testing.engine import FakeEngine, Health
from router_lifecycle.testing.faults import (
    Fault,
    FaultPlan,
    Stage,
    delay,
    html_page,
    lose_answer,
    lose_request,
    reset,
    server_error,
    too_many_requests,
)
from router_lifecycle.testing.profiles import PROFILES, IdKind, RouterProfile
from router_lifecycle.testing.router import EPOCH_SECONDS, FakeRouter, ListedWorker, SeenRequest

__all__ = [
    "EPOCH_SECONDS",
    "PROFILES",
    "FakeEngine",
    "FakeRouter",
    "Fault",
    "FaultPlan",
    "Health",
    "IdKind",
    "ListedWorker",
    "ManualClock",
    "RegistryEvent",
    "RouterOptions",
    "RouterProfile",
    "SeenRequest",
    "Stage",
    "delay",
    "html_page",
    "lose_answer",
    "lose_request",
    "reset",
    "server_error",
    "too_many_requests",
]

"""Fakes for tests of programs that use this package, or that are Workers of their own.

`ManualClock` moves by hand, so that nothing has to be waited for. `FakeSource` is an engine's load as the test tells it.
`ScriptedRouter` is a Router's stream over real gRPC; what it says, and when, is up to the test. It alone needs the extra
`[load-reporter]`::

    clock = ManualClock()
    reporter = await start_load_reporter(ReporterConfig(port=0), FakeSource(clock), clock=clock)
    async with reporter, ScriptedRouter(reporter.address) as router:
        await router.register(report_interval_ms=1_000)
        first = await router.report()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loadmonitor_worker.testing.clock import ManualClock, settle
from loadmonitor_worker.testing.source import FakeSource, rank

if TYPE_CHECKING:
    from loadmonitor_worker.testing.router import ScriptedRouter

__all__ = ["FakeSource", "ManualClock", "ScriptedRouter", "rank", "settle"]


def __getattr__(name: str) -> Any:
    """Import what needs gRPC when it is first used: the other fakes need nothing."""
    if name != "ScriptedRouter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("loadmonitor_worker.testing.router").ScriptedRouter

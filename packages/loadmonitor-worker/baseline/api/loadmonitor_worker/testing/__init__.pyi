from loadmonitor_worker.testing.clock import ManualClock as ManualClock, settle as settle
from loadmonitor_worker.testing.router import ScriptedRouter as ScriptedRouter
from loadmonitor_worker.testing.source import FakeSource as FakeSource, rank as rank

__all__ = ['ManualClock', 'settle', 'FakeSource', 'rank', 'ScriptedRouter']

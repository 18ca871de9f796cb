from loadmonitor_router.testing.clock import ManualClock as ManualClock, settle as settle
from loadmonitor_router.testing.messages import wire_rank as wire_rank, wire_report as wire_report
from loadmonitor_router.testing.worker import ScriptedStream as ScriptedStream, ScriptedWorker as ScriptedWorker

__all__ = ['ManualClock', 'settle', 'wire_rank', 'wire_report', 'ScriptedStream', 'ScriptedWorker']

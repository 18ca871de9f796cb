from _typeshed import Incomplete
from collections.abc import Callable
from dataclasses import dataclass
from loadmonitor_worker._journal import SessionJournal as SessionJournal, StatusJournal as StatusJournal
from loadmonitor_worker._meter import Meter as Meter
from loadmonitor_worker._orca import orca_report as orca_report
from loadmonitor_worker._pull import Puller as Puller
from loadmonitor_worker._report import ReportBuilder as ReportBuilder, error_frame as error_frame
from loadmonitor_worker._table import SessionTable as SessionTable
from loadmonitor_worker._verdict import Attempt as Attempt, ReportStatus as ReportStatus, judge as judge
from loadmonitor_worker.interfaces import Clock as Clock, TimerHandle as TimerHandle

Follower = Callable[[Attempt], None]

@dataclass(slots=True)
class ReporterCounters:
    fires: int = ...
    coalesced_reports: int = ...
    clamped_values: int = ...

class FireLoop:
    counters: Incomplete
    last_status: ReportStatus | None
    meter: Meter | None
    def __init__(self, table: SessionTable, puller: Puller, builder: ReportBuilder, clock: Clock, journal: SessionJournal, *, stale_after_ms: int) -> None: ...
    def changed(self) -> None: ...
    def follow(self, follower: Follower) -> None: ...
    def unfollow(self, follower: Follower) -> None: ...
    def end(self) -> None: ...

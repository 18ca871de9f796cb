from _typeshed import Incomplete
from collections import Counter
from loadmonitor_proto import StreamErrorCode
from loadmonitor_worker._describe import line_of as line_of
from loadmonitor_worker._session import Session as Session
from loadmonitor_worker._verdict import ReportStatus as ReportStatus, Verdict as Verdict
from typing import Final

SESSION_EVENTS: Final[Incomplete]
REFUSALS: Final[Incomplete]
RECOVERED_AFTER_NS: Final[int]

class SessionJournal:
    events: Counter[str]
    refused: Counter[str]
    def __init__(self) -> None: ...
    def registered(self, session: Session, *, interval_ms: int, lease_ms: int) -> None: ...
    def failed(self, session: Session, code: StreamErrorCode, message: str) -> None: ...
    def left(self, session: Session, *, stopped: bool) -> None: ...

class StatusJournal:
    def __init__(self) -> None: ...
    def note(self, verdict: Verdict, now_ns: int) -> None: ...

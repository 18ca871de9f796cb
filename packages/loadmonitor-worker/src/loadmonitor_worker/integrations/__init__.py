"""Who owns the reporter in each way of serving an engine; `SERVING_MODES` is the table.

Importing this imports neither grpc nor protobuf, and neither does any of it while reporting is off (`port=None`).
"""

from loadmonitor_worker.integrations.elected import ElectedReporter
from loadmonitor_worker.integrations.modes import SERVING_MODES, SOURCES, ServingMode, SourceKind
from loadmonitor_worker.integrations.offline import refuse_reporter
from loadmonitor_worker.integrations.servicer import request_manager_source, serve_with_reporter
from loadmonitor_worker.integrations.shared import SharedReporter
from loadmonitor_worker.integrations.thread import ReporterThread

__all__ = [
    "SERVING_MODES",
    "SOURCES",
    "ElectedReporter",
    "ReporterThread",
    "ServingMode",
    "SharedReporter",
    "SourceKind",
    "refuse_reporter",
    "request_manager_source",
    "serve_with_reporter",
]

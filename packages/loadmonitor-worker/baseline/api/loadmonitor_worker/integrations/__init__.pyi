from loadmonitor_worker.integrations.elected import ElectedReporter as ElectedReporter
from loadmonitor_worker.integrations.modes import SERVING_MODES as SERVING_MODES, SOURCES as SOURCES, ServingMode as ServingMode, SourceKind as SourceKind
from loadmonitor_worker.integrations.offline import refuse_reporter as refuse_reporter
from loadmonitor_worker.integrations.servicer import request_manager_source as request_manager_source, serve_with_reporter as serve_with_reporter
from loadmonitor_worker.integrations.shared import SharedReporter as SharedReporter
from loadmonitor_worker.integrations.thread import ReporterThread as ReporterThread

__all__ = ['ElectedReporter', 'SERVING_MODES', 'SOURCES', 'ServingMode', 'SourceKind', 'refuse_reporter', 'request_manager_source', 'serve_with_reporter', 'SharedReporter', 'ReporterThread']

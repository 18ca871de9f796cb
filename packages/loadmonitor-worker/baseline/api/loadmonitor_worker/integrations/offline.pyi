from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import ServingModeError as ServingModeError

def refuse_reporter(config: ReporterConfig) -> None: ...

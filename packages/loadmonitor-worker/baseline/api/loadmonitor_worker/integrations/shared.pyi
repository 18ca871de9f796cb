from loadmonitor_worker.config import ReporterConfig as ReporterConfig
from loadmonitor_worker.errors import ServingModeError as ServingModeError
from loadmonitor_worker.integrations._running import MakeSource as MakeSource, running_reporter as running_reporter
from loadmonitor_worker.reporter import LoadReporter as LoadReporter
from types import TracebackType

class SharedReporter:
    reporter: LoadReporter | None
    def __init__(self, config: ReporterConfig, make_source: MakeSource) -> None: ...
    async def __aenter__(self) -> LoadReporter | None: ...
    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

import logging
from _typeshed import Incomplete
from collections.abc import Mapping
from loadmonitor_worker.cli._flags import log_in_flags as log_in_flags

LogFormat: Incomplete
LogLevel: Incomplete

class JsonFormatter(logging.Formatter):
    def __init__(self, environ: Mapping[str, str]) -> None: ...
    def format(self, record: logging.LogRecord) -> str: ...

def set_up_logging(log_format: LogFormat, level: LogLevel) -> None: ...

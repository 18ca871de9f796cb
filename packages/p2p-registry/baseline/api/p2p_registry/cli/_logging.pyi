import logging
from _typeshed import Incomplete

LogFormat: Incomplete
LogLevel: Incomplete

class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str: ...

def set_up_logging(log_format: LogFormat, level: LogLevel) -> None: ...

"""Logging of the commands, on stderr: lines for people or one JSON object a line."""

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import unquote

from loadmonitor_worker.cli._flags import log_in_flags

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, the record's own fields such as `router_id` and `peer`, then the resource.

    The resource is what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say of this process, such as its pod's name.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        pairs = (pair.partition("=") for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
        self._resource = {name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals}
        if service := environ.get("OTEL_SERVICE_NAME"):
            self._resource["service.name"] = service

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if self._resource:
            line["resource"] = self._resource
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up_logging(log_format: LogFormat, level: LogLevel) -> None:
    """Log to stderr from now on: this package from `level` on, everybody else troubles only.

    An HTTP client, for one, has a line for every request at "info".
    """
    handler = logging.StreamHandler()
    handler.addFilter(log_in_flags)
    handler.setFormatter(
        JsonFormatter(os.environ)
        if log_format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level="ERROR" if level == "error" else "WARNING", handlers=[handler])
    logging.getLogger("loadmonitor_worker").setLevel(level.upper())

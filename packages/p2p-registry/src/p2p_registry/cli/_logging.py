"""Logging of the commands, on stderr: lines for people or one JSON object a line."""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


class JsonLines(logging.Formatter):
    """One object a line: time, level, logger, message, and error where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up_logging(log_format: LogFormat, level: LogLevel) -> None:
    """Log to stderr from now on: this package from `level` on, everybody else troubles only."""
    lines = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else lines)
    logging.basicConfig(level="WARNING", handlers=[handler])
    logging.getLogger("p2p_registry").setLevel(level.upper())

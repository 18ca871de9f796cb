"""One request to a router and its answer, without saying how they travel."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal

_EXCERPT_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a router.

    Attributes:
        method: The HTTP method.
        path: The path behind the router's own URL, percent-encoded, with its query.
        body: The JSON object to send, or None for no body.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    body: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: The HTTP status.
        text: The body, decoded; what isn't UTF-8 is replaced.
        headers: The headers under lower-case names.
    """

    status: int
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """Return the decoded JSON body, or None when the body is no JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    def json_object(self) -> dict[str, Any] | None:
        """Return the body when it is a JSON object, else None."""
        body = self.json()
        return body if isinstance(body, dict) else None

    def error_code(self) -> str | None:
        """Return the router's own name for what went wrong, in both forms that routers use, or None."""
        body = self.json_object() or {}
        error = body.get("error")
        code = error.get("code") if isinstance(error, dict) else body.get("code")
        return code if isinstance(code, str) else None

    def excerpt(self) -> str:
        """Return status and the start of the body on one line, for a message."""
        text = " ".join(self.text.split())
        if len(text) > _EXCERPT_CHARACTERS:
            text = text[:_EXCERPT_CHARACTERS] + "..."
        return f"HTTP {self.status}: {text}" if text else f"HTTP {self.status} without a body"

    def retry_after_seconds(self, now_unix_seconds: float) -> float | None:
        """Return how long the router asks to be left alone, 0 or above, or None when it doesn't ask (RFC 9110, 10.2.3)."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return float(value[:9])
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - now_unix_seconds)
        except (ValueError, TypeError, OverflowError):
            return None

"""Whether an HTTP answer holds what was asked for, by its status and headers. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from loadmonitor_worker.errors import SourceUnavailableError


class HttpReason(StrEnum):
    """Why an engine's answer over HTTP gives no load."""

    UNREACHABLE = "unreachable"
    """No connection, or it broke."""
    NOT_HTTP = "not_http"
    """The answer broke off or isn't HTTP/1.1."""
    TIMEOUT = "timeout"
    """No complete answer within the deadline."""
    UNAUTHORIZED = "unauthorized"
    """401 or 403."""
    ROUTE_ABSENT = "route_absent"
    """404, 405, 501, or JSON that isn't about load: this server doesn't tell its load there."""
    HTTP_STATUS = "http_status"
    """Any other status but 200."""
    REDIRECTED_OFF_HOST = "redirected_off_host"
    """To another scheme, host or port; it isn't followed."""
    TOO_MANY_REDIRECTS = "too_many_redirects"
    """More than 3 on the same host."""
    COMPRESSED = "compressed"
    """Though no compression was asked for; it isn't unpacked."""
    TOO_LARGE = "too_large"
    """A body beyond the cap."""
    BAD_JSON = "bad_json"
    """Not JSON in UTF-8, or with a key twice."""
    NO_RANKS = "no_ranks"
    """An empty list: the engine is starting."""
    AGGREGATE_ONLY = "aggregate_only"
    """Sums over ranks without the ranks."""
    INCOMPLETE = "incomplete"
    """Ranks without all the values that a report carries."""


def check_answer(status: int, headers: Mapping[str, str], *, where: str, with_key: bool, absent: str) -> None:
    """Return if this is status 200 with a body that isn't compressed.

    Args:
        status: The HTTP status.
        headers: The HTTP headers, names in lower case.
        where: What was asked, for messages.
        with_key: Whether an API key was sent, for messages.
        absent: What to do when the server hasn't this route, for messages.

    Raises:
        SourceUnavailableError: It isn't; `reason` is a word of HttpReason.
    """
    match status:
        case 200:
            pass
        case 401 | 403:
            remedy = "the API key is not the engine's" if with_key else "give the engine's API key"
            raise SourceUnavailableError(HttpReason.UNAUTHORIZED, f"{where} answered {status}: {remedy}")
        case 404 | 405 | 501:
            raise SourceUnavailableError(HttpReason.ROUTE_ABSENT, f"{where} answered {status}: {absent}")
        case _:
            hint = ": the engine is starting, stopping or overloaded" if status >= 500 else ""
            raise SourceUnavailableError(
                HttpReason.HTTP_STATUS, f"{where} answered {status}, where 200 is expected{hint}"
            )
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise SourceUnavailableError(
            HttpReason.COMPRESSED,
            f"{where} answered with a compressed body that nobody asked for: ask the engine itself",
        )

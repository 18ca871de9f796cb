"""Which dialect a router speaks, found by requests that change nothing.

An installed package says nothing about the router at the other end of a URL, and routers neither tell their version nor announce
that they were replaced by another.
"""

from collections.abc import Generator

from router_lifecycle.dialects.base import Dialect
from router_lifecycle.dialects.smg import SmgDialect
from router_lifecycle.dialects.sync import SyncDialect
from router_lifecycle.dialects.url import UrlDialect
from router_lifecycle.dialects.uuid import UuidDialect
from router_lifecycle.errors import RouterLifecycleError
from router_lifecycle.exchange import Answer, Request

_ASK_FOR_NO_UUID = Request("GET", "/workers/not-a-uuid")
_ASK_FOR_NO_ROUTE = Request("GET", "/router-lifecycle-probe")


class UnknownRouterError(RouterLifecycleError):
    """The answers fit no router that is known; the last of them is the message.

    What to do: check the address: it isn't the one of a router, or of one that isn't known here.
    """


def probe() -> Generator[Request, Answer, Dialect]:
    """Yield requests, take their answers, and return the dialect.

    `GET /workers/not-a-uuid`: routers whose ids are URLs know no such worker, those whose ids are UUIDs say that it is none. Then
    an unknown path: SMG answers in JSON, 0.3.x with nothing. A router without `/workers` has `/list_workers`.

    Raises:
        UnknownRouterError: No router that is known answers like this.
    """
    answer = yield _ASK_FOR_NO_UUID
    if answer.error_code() == "WORKER_NOT_FOUND":
        return UrlDialect()
    if answer.status == 400 and answer.error_code() is not None:
        answer = yield _ASK_FOR_NO_ROUTE
        if answer.error_code() == "unknown_url":
            return SmgDialect()
        if _is_no_route(answer):
            return UuidDialect()
    elif _is_no_route(answer):
        sync = SyncDialect()
        answer = yield sync.list_all()
        if answer.status == 200 and sync.read_list(answer) is not None:
            return sync
    raise UnknownRouterError(answer.excerpt())


def _is_no_route(answer: Answer) -> bool:
    """Return whether a router says that it has no such path; a page comes from something in between, and says nothing of it."""
    return answer.status in (404, 405) and not answer.text.lstrip().startswith("<")

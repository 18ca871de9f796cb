"""The URL of a router: the base of every request, and a part of every identity."""

import re

from router_lifecycle.errors import InvalidRouterURLError

_URL = re.compile(
    r"(?i:https?)://(?:\[[^\s/?#@\[\]]+\]|[^\s/?#@:\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?:/[^\s?#]*)?", re.ASCII
)


def normalize_router_url(url: str) -> str:
    """Return the URL without a slash at its end, scheme and host in lower case, so that equal routers compare equal.

    Args:
        url: An absolute http or https URL; a path in front of the router's own paths may follow.

    Raises:
        InvalidRouterURLError: It isn't such a URL, has a port that is none, or holds a user name, a query or a fragment.
    """
    match = _URL.fullmatch(url)
    if match is None or not 1 <= int(match["port"] or 1) <= 65_535:
        raise InvalidRouterURLError(url)
    scheme, _, rest = url.rstrip("/").partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{authority.lower()}{slash}{path}"

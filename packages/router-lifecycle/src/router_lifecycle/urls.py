"""One spelling for each worker URL.

No router normalises URLs: `http://h:1`, `http://h:1/` and `http://H:1` become three healthy workers of one process, which then
gets three shares of the traffic. So we send one canonical spelling, and compare what a router lists in that spelling too.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from router_lifecycle.errors import InvalidWorkerURLError

_SCHEMES = ("http", "https", "grpc")
# Not urllib's parser: it drops tabs and newlines without a word, and takes "host:30000" for a scheme "host".
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)", re.ASCII)
_HOST_AND_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,9}))?", re.ASCII)
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.ASCII)
_RANKED = re.compile(r"(?P<base>[^@]*//(?:\[[^@\[\]]*\]|[^@:/?#]*):[0-9]+)@(?P<rank>[0-9]{1,9})", re.ASCII)
# Up to the last @, because a password may hold anything.
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)?.*@", re.ASCII | re.DOTALL)
_QUERY_OR_FRAGMENT = re.compile(r"(?<=[?#]).*", re.DOTALL)


def normalize_worker_url(url: str) -> str:
    """Return the canonical spelling of a worker URL: `scheme://host:port`.

    Scheme and host are in lower case, an IPv6 address is as short as RFC 5952 wants it, the port has no leading zeros and no
    slash follows it. Names aren't resolved: `localhost` and `127.0.0.1` stay two. The result is its own canonical spelling.

    Args:
        url: An absolute http, https or grpc URL with host and port.

    Raises:
        InvalidWorkerURLError: The URL is relative, of another scheme, without host or port, with userinfo, path, query or
            fragment, with an IPv6 address out of brackets, or ends in a data-parallel rank.
    """
    ranked = _RANKED.fullmatch(url)
    shown = _QUERY_OR_FRAGMENT.sub("***", url if ranked else _USERINFO.sub(r"\1***@", url))
    if not url.isprintable() or " " in url:
        raise InvalidWorkerURLError(shown, "it holds white space or a control character: remove it")
    match = _URL.fullmatch(url)
    if match is None:
        raise InvalidWorkerURLError(shown, "it isn't absolute: put http:// in front")
    scheme, authority = match["scheme"].lower(), match["authority"]
    if scheme not in _SCHEMES:
        raise InvalidWorkerURLError(shown, f"no router dials the scheme {scheme!r}")
    if ranked:
        raise InvalidWorkerURLError(
            shown, "it ends in a data-parallel rank: the router numbers the ranks, leave out the @"
        )
    if "@" in authority:
        raise InvalidWorkerURLError(shown, "it holds a user name or password: give a key as api_key")
    if match["rest"] not in ("", "/"):
        raise InvalidWorkerURLError(shown, "something follows the port: routers append their own paths, leave it out")
    parts = _HOST_AND_PORT.fullmatch(authority)
    if parts is None:
        reason = "host and port can't be told apart: an IPv6 address needs brackets, a port is a number"
        raise InvalidWorkerURLError(shown, reason)
    if parts["port"] is None or not 1 <= int(parts["port"]) <= 65_535:
        raise InvalidWorkerURLError(shown, "it has no port from 1 to 65535: a worker is a host and a port")
    host = _canonical_host(parts["host"])
    if host is None:
        raise InvalidWorkerURLError(shown, f"{parts['host']!r} is neither a host name nor an IP address without zone")
    return f"{scheme}://{host}:{int(parts['port'])}"


def split_dp_rank(listed_url: str) -> tuple[str, int | None]:
    """Split a URL that a router lists into the worker's canonical URL and its data-parallel rank.

    A dp-aware router lists each rank of a worker as `http://host:port@rank`, which nobody can dial. Only digits at the very end,
    after a worker URL, are a rank; the user name of another kind of URL is left alone. A text that isn't a worker's URL comes
    back as it is, without a rank, since a list may hold rows of other people.

    Args:
        listed_url: The `url` of an entry of the router's list.

    Returns:
        The URL, canonical where it is a worker's, and the rank, or None when it names none.
    """
    ranked = _RANKED.fullmatch(listed_url)
    try:
        if ranked:
            return normalize_worker_url(ranked["base"]), int(ranked["rank"])
        return normalize_worker_url(listed_url), None
    except InvalidWorkerURLError:
        return listed_url, None


def _canonical_host(host: str) -> str | None:
    """Return the canonical spelling of a host, an IPv6 address in brackets, or None when it can't be one."""
    try:
        if host.startswith("["):
            address = IPv6Address(host[1:-1])
            if address.scope_id is not None:
                return None
            # Python spells these in dots from 3.13 on and in hexadecimal before; RFC 5952 recommends dots.
            return f"[::ffff:{address.ipv4_mapped}]" if address.ipv4_mapped else f"[{address}]"
        name = host.lower()
        if not _HOST_NAME.fullmatch(name):
            return None
        # A name can't end in a number. Resolvers take 127.1 or 0x7f.1 for an address, each its own way.
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", name.rstrip(".").rpartition(".")[2]):
            return str(IPv4Address(name))
    except AddressValueError:
        return None
    return name

"""From a worker's URL to the Worker that is dialled: its base URL, its reporter, and a set in which each is there once."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import urlsplit

from loadmonitor_router._redaction import without_password
from loadmonitor_router.config import normalize_address
from loadmonitor_router.errors import ConfigError, WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget

DEFAULT_REPORTER_PORT = 50_061
"""Where a load reporter listens unless told otherwise."""

SCHEMES = ("http", "https", "grpc", "grpcs")
"""What a worker's URL may begin with."""

_PORT_MAX = 65_535
_RANK = re.compile(r"(?<=.)@\d+$", re.ASCII)
_WORKER_TYPES = {"regular": WorkerType.REGULAR, "prefill": WorkerType.PREFILL, "decode": WorkerType.DECODE}


def base_url(worker_url: str) -> str:
    """Return where requests go: the URL without the rank that routers append to name one rank of a worker.

    Only a trailing `@` and digits is a rank: `http://10.0.0.1:30000@3` is rank 3 of `http://10.0.0.1:30000`, while
    `http://user@10.0.0.1:30000` stays as it is.
    """
    return _RANK.sub("", worker_url)


def reporter_endpoint(worker_url: str, port: int) -> str:
    """Return where the load reporter of a worker listens: the worker's host, and the reporter's port.

    Args:
        worker_url: Such as `http://10.0.0.1:30000`, `https://[2001:db8::1]:30000`, `grpc://worker-0.example` or
            `http://10.0.0.1:30000@3`. Its own port, path and user are left out.
        port: The reporter's TCP port, 1 to 65535.

    Returns:
        ``host:port`` or ``[ipv6]:port``, in the one form that equal addresses share.

    Raises:
        ConfigError: The URL has another scheme, no host or a port that is none, or `port` is out of range.
    """
    url = base_url(worker_url)
    if not all(character.isprintable() and not character.isspace() for character in url):
        raise _bad_url(worker_url, "it holds white space")  # which the parser would pass over
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _bad_url(worker_url, str(error)) from None
    if parts.scheme not in SCHEMES or "://" not in url:
        raise _bad_url(worker_url, f"the scheme is {parts.scheme!r}" if "://" in url else "the scheme is missing")
    if not host:
        raise _bad_url(worker_url, "the host is missing")
    return endpoint(host, port)


def endpoint(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address.

    Raises:
        ConfigError: It can't be dialled.
    """
    return normalize_address(f"[{host}]:{port}" if _is_ipv6(host) else f"{host}:{port}")


def check_port(name: str, port: int) -> None:
    """Check a setting that is a TCP port.

    Raises:
        ConfigError: It is none.
    """
    if type(port) is not int or not 1 <= port <= _PORT_MAX:
        raise ConfigError(f"{name}={port!r} is not a TCP port: an integer from 1 to {_PORT_MAX} is")


def worker_target(
    worker_url: str, port: int, worker_type: WorkerType = WorkerType.REGULAR, *, reporter: str | None = None
) -> WorkerTarget:
    """Return the Worker behind a URL; its ranks are one Worker.

    Args:
        worker_url: Where requests go; a rank is cut off.
        port: The port of its reporter, on the same host.
        worker_type: What it serves.
        reporter: Where its reporter listens, where that is known; `port` then doesn't count.

    Raises:
        ConfigError: The URL or the reporter's address isn't allowed.
    """
    derived = reporter_endpoint(worker_url, port)
    address = derived if reporter is None else normalize_address(reporter)
    return WorkerTarget(url=base_url(worker_url), reporter=address, worker_type=worker_type)


def target_set(targets: Iterable[WorkerTarget]) -> tuple[WorkerTarget, ...]:
    """Return the Workers by url, each once; equal sets give equal tuples.

    Raises:
        WorkerListError: Two different Workers share a reporter, so that the load of one would pass for the other's.
    """
    by_reporter: dict[str, WorkerTarget] = {}
    for target in targets:
        other = by_reporter.setdefault(target.reporter, target)
        if other != target:
            raise WorkerListError(
                f"{_named(other)} and {_named(target)} share the load reporter {target.reporter}: "
                "name each worker once, and give workers of one host reporters on ports of their own"
            )
    return tuple(sorted(by_reporter.values(), key=lambda target: (target.url, target.reporter)))


def worker_type_of(word: object) -> WorkerType:
    """Return the worker type that SGLang and its routers call so.

    Raises:
        WorkerListError: It is none of theirs.
    """
    found = _WORKER_TYPES.get(word) if isinstance(word, str) else None
    if found is None:
        raise WorkerListError(f"worker_type {word!r} is not allowed: one of {', '.join(_WORKER_TYPES)} is")
    return found


def target_of(entry: object, port: int) -> WorkerTarget:
    """Return the Worker that an entry of a file names.

    Args:
        entry: A URL, or an object with `url` and, optionally, `reporter` (host:port) and `worker_type`.
        port: The port of the reporter where the entry doesn't name one.

    Raises:
        ConfigError: A URL or an address isn't allowed.
        WorkerListError: The entry has another shape.
    """
    if isinstance(entry, str):
        return worker_target(entry, port)
    if not isinstance(entry, Mapping):
        raise WorkerListError(f"{entry!r} is not a worker: a URL is, or an object with a url")
    unknown = entry.keys() - {"url", "reporter", "worker_type"}
    if unknown:
        raise WorkerListError(f"{min(unknown)!r} is no key of a worker: url, reporter and worker_type are")
    url, reporter = entry.get("url"), entry.get("reporter")
    if not isinstance(url, str) or not isinstance(reporter, str | None):
        raise WorkerListError(f"{dict(entry)!r} is not a worker: url must be a string, and so must reporter if given")
    return worker_target(url, port, worker_type_of(entry.get("worker_type", "regular")), reporter=reporter)


def _is_ipv6(host: str) -> bool:
    try:
        IPv6Address(host)
    except AddressValueError:
        return False
    return True


def _named(target: WorkerTarget) -> str:
    return f"{without_password(target.url)} ({target.worker_type.removeprefix('WORKER_TYPE_').lower()})"


def _bad_url(url: str, why: str) -> ConfigError:
    allowed = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    return ConfigError(
        f"worker URL {without_password(url)!r} is not allowed: {why}; it must be one of {allowed} with host and port"
    )

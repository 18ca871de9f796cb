"""Which Workers are meant: when two descriptions are one Worker, and what a new list changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import urlsplit

from loadmonitor_router.config import normalize_address
from loadmonitor_router.errors import ConfigError, DuplicateWorkerError
from loadmonitor_router.snapshot import WorkerTarget

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetChange:
    """What a new list of Workers asks for.

    Attributes:
        stop: Workers that are gone, or are another one under an old url.
        start: Workers that are new, or are another one under an old url.
    """

    stop: tuple[WorkerTarget, ...]
    start: tuple[WorkerTarget, ...]


def compare_fleet(known: Mapping[str, WorkerTarget], wanted: Iterable[WorkerTarget]) -> FleetChange:
    """Return what turns the known Workers into the wanted ones; a Worker whose identity is unchanged isn't mentioned.

    Args:
        known: The Workers now, by url.
        wanted: All Workers from now on, in any order.

    Raises:
        DuplicateWorkerError: Two of the wanted share a url or a load reporter.
        ConfigError: A url or a reporter's address isn't one.
    """
    by_url: dict[str, WorkerTarget] = {}
    by_reporter: dict[str, WorkerTarget] = {}
    for target in wanted:
        _claim(by_url, normalize_url(target.url), target, "url")
        _claim(by_reporter, normalize_address(target.reporter), target, "load reporter")
    named = {target.url: target for target in by_url.values()}
    return FleetChange(
        stop=tuple(target for url, target in known.items() if named.get(url) != target),
        start=tuple(target for url, target in named.items() if known.get(url) != target),
    )


def _claim(claimed: dict[str, WorkerTarget], key: str, target: WorkerTarget, what: str) -> None:
    first = claimed.setdefault(key, target)
    if first is not target:
        raise DuplicateWorkerError(
            f"workers {first.url!r} (reporter {first.reporter!r}) and {target.url!r} (reporter {target.reporter!r}) have "
            f"one {what}, {key}: give each worker once, and a load reporter of its own",
            first=first.url,
            second=target.url,
        )


def normalize_url(url: str) -> str:
    """Return a worker's url in the one form that equal urls share.

    Scheme and host become lower case, IPv6 addresses their shortest form; the scheme's default port and slashes at the end
    go. A data-parallel rank behind the port, as in `http://10.0.0.1:30000@3`, stays. An address without a scheme, for a
    Worker of which nothing but its load reporter is known, takes the form of `normalize_address`.

    Raises:
        ConfigError: It is neither; the message says so.
    """
    if "://" not in url:
        try:
            return normalize_address(url)
        except ConfigError as error:
            raise _bad_url(url, str(error)) from None
    try:
        parts = urlsplit(url)
        place, at, rank = parts.netloc.rpartition("@")
        if not rank.isdecimal():
            place, at, rank = parts.netloc, "", ""
        origin = urlsplit(f"//{place}")
        host, port = origin.hostname, origin.port
        if host is not None and ":" in host:
            host = f"[{IPv6Address(host)}]"
    except (ValueError, AddressValueError) as error:
        raise _bad_url(url, str(error)) from None
    if not parts.scheme or not host or any(character.isspace() for character in url):
        raise _bad_url(url, "the scheme or the host is missing, or there is a space in it")
    shown_port = "" if port is None or port == _DEFAULT_PORTS.get(parts.scheme) else f":{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{host}{shown_port}{at}{rank}{parts.path.rstrip('/')}{query}"


def _bad_url(url: str, why: str) -> ConfigError:
    return ConfigError(
        f"worker url {url!r} can't be used: {why}; allowed is scheme://host:port, such as http://10.0.0.1:30000, "
        "or host:port where only the load reporter is known"
    )

"""A discovery from one word on a command line."""

from loadmonitor_router._redaction import without_password
from loadmonitor_router.discovery.file import FileDiscovery
from loadmonitor_router.discovery.interfaces import Discovery
from loadmonitor_router.discovery.static import StaticDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT
from loadmonitor_router.errors import ConfigError
from loadmonitor_router.interfaces import Clock

FORMS = (
    "static:URL[,URL…]",
    "file:PATH",
    "dns:NAME:PORT",
    "srv:NAME",
    "k8s:NAMESPACE/LABEL=VALUE[,LABEL=VALUE…]",
    "router:URL",
)
"""What `parse_discovery` takes."""


def parse_discovery(spec: str, *, reporter_port: int = DEFAULT_REPORTER_PORT, clock: Clock | None = None) -> Discovery:
    """Return the discovery that a word names; nothing is looked up yet.

    Args:
        spec: One of `FORMS`. The PORT of `dns:` is where the workers serve requests.
        reporter_port: Where the reporters listen, unless what is found says otherwise.
        clock: Time; the machine's unless given.

    Raises:
        ConfigError: The word has none of the forms, or a part of it isn't allowed.
        MissingExtraError: What it needs isn't installed.
    """
    kind, _, rest = spec.partition(":")
    if not rest:
        raise _bad_spec(spec)
    match kind:
        case "static":
            return StaticDiscovery(rest.split(","), reporter_port=reporter_port)
        case "file":
            return FileDiscovery(rest, reporter_port=reporter_port, clock=clock)
        case "dns":
            return _dns(spec, rest, reporter_port, clock)
        case "srv":
            from loadmonitor_router.discovery import LookupConfig, SrvDiscovery  # noqa: PLC0415 - needs an extra

            return SrvDiscovery(rest, config=LookupConfig(reporter_port=reporter_port), clock=clock)
        case "k8s":
            return _kubernetes(spec, rest, reporter_port, clock)
        case "router":
            from loadmonitor_router.discovery import RouterDiscovery  # noqa: PLC0415 - needs an extra

            return RouterDiscovery(rest, reporter_port=reporter_port, clock=clock)
    raise _bad_spec(spec)


def _dns(spec: str, rest: str, reporter_port: int, clock: Clock | None) -> Discovery:
    from loadmonitor_router.discovery import DnsDiscovery, LookupConfig  # noqa: PLC0415 - needs an extra

    name, _, port = rest.rpartition(":")
    if not name or not (port.isascii() and port.isdigit()):
        raise _bad_spec(spec)
    return DnsDiscovery(name, int(port), config=LookupConfig(reporter_port=reporter_port), clock=clock)


def _kubernetes(spec: str, rest: str, reporter_port: int, clock: Clock | None) -> Discovery:
    from loadmonitor_router.discovery import KubernetesDiscovery  # noqa: PLC0415 - needs an extra

    namespace, _, labels = rest.partition("/")
    pairs = [label.partition("=") for label in labels.split(",")]
    if not namespace or not all(name and equals for name, equals, _ in pairs):
        raise _bad_spec(spec)
    selector = {name: value for name, _, value in pairs}
    return KubernetesDiscovery(namespace, selector, reporter_port=reporter_port, clock=clock)


def _bad_spec(spec: str) -> ConfigError:
    return ConfigError(f"discovery {without_password(spec)!r} is not understood: one of {', '.join(FORMS)} is")

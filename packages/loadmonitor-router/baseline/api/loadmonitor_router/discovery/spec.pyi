from _typeshed import Incomplete
from loadmonitor_router._redaction import without_password as without_password
from loadmonitor_router.discovery.file import FileDiscovery as FileDiscovery
from loadmonitor_router.discovery.interfaces import Discovery as Discovery
from loadmonitor_router.discovery.static import StaticDiscovery as StaticDiscovery
from loadmonitor_router.discovery.targets import DEFAULT_REPORTER_PORT as DEFAULT_REPORTER_PORT
from loadmonitor_router.errors import ConfigError as ConfigError
from loadmonitor_router.interfaces import Clock as Clock

FORMS: Incomplete

def parse_discovery(spec: str, *, reporter_port: int = ..., clock: Clock | None = None) -> Discovery: ...

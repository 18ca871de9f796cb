from collections.abc import Generator
from router_lifecycle.dialects.base import Dialect as Dialect
from router_lifecycle.dialects.smg import SmgDialect as SmgDialect
from router_lifecycle.dialects.sync import SyncDialect as SyncDialect
from router_lifecycle.dialects.url import UrlDialect as UrlDialect
from router_lifecycle.dialects.uuid import UuidDialect as UuidDialect
from router_lifecycle.errors import RouterLifecycleError as RouterLifecycleError
from router_lifecycle.exchange import Answer as Answer, Request as Request

class UnknownRouterError(RouterLifecycleError): ...

def probe() -> Generator[Request, Answer, Dialect]: ...

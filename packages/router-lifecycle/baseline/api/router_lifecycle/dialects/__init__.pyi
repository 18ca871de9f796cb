from router_lifecycle.dialects.base import Dialect as Dialect, DialectName as DialectName, Updating as Updating
from router_lifecycle.dialects.created import Created as Created, CreatedKind as CreatedKind, read_created as read_created
from router_lifecycle.dialects.probing import UnknownRouterError as UnknownRouterError, probe as probe
from router_lifecycle.dialects.smg import SmgDialect as SmgDialect
from router_lifecycle.dialects.sync import SyncDialect as SyncDialect
from router_lifecycle.dialects.url import UrlDialect as UrlDialect
from router_lifecycle.dialects.uuid import UuidDialect as UuidDialect

__all__ = ['Dialect', 'DialectName', 'Updating', 'Created', 'CreatedKind', 'read_created', 'UnknownRouterError', 'probe', 'SmgDialect', 'SyncDialect', 'UrlDialect', 'UuidDialect']

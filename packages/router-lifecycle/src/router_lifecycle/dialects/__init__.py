"""The ways in which routers speak of workers: pure builders of requests and readers of answers.

- `sync`, of routers up to 0.2.1 and those with /add_worker only: a worker's id is its URL, and POST answers 200 once it is active.
- `url`, of sglang-router 0.2.0 to 0.2.4: the id is the URL, and POST answers 202.
- `uuid`, of sglang-router 0.3.x: the id is a UUID, the same for a URL until it is removed; 202 with a location.
- `smg`, of SMG 1.x: the id is a UUID, new for each attempt and each rank; 202 with a location, or 409.

Which one a router speaks is found from its answers (`probe`), and the answer to the POST has the last word (`read_created`).
"""

from router_lifecycle.dialects.base import Dialect, DialectName, Updating
from router_lifecycle.dialects.created import Created, CreatedKind, read_created
from router_lifecycle.dialects.probing import UnknownRouterError, probe
from router_lifecycle.dialects.smg import SmgDialect
from router_lifecycle.dialects.sync import SyncDialect
from router_lifecycle.dialects.url import UrlDialect
from router_lifecycle.dialects.uuid import UuidDialect

__all__ = [
    "Created",
    "CreatedKind",
    "Dialect",
    "DialectName",
    "SmgDialect",
    "SyncDialect",
    "UnknownRouterError",
    "Updating",
    "UrlDialect",
    "UuidDialect",
    "probe",
    "read_created",
]

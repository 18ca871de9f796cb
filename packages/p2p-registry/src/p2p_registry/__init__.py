"""The P2P metadata of weight sources: what a source is, and the id it is listed under."""

from p2p_registry.errors import InvalidIdentityError, P2PRegistryError
from p2p_registry.identity import BackendFramework, SourceIdentity, SourceType
from p2p_registry.source_id import mx_source_id

__all__ = [
    "BackendFramework",
    "InvalidIdentityError",
    "P2PRegistryError",
    "SourceIdentity",
    "SourceType",
    "mx_source_id",
]

"""The errors of p2p_registry.

P2PRegistryError
├── InvalidIdentityError    a source identity holds what the wire can't carry, or has no model name to be listed under
└── BackendError            the store behind the registry can't be reached, or refuses
"""


class P2PRegistryError(Exception):
    """Base of every error that p2p_registry raises."""


class InvalidIdentityError(P2PRegistryError, ValueError):
    """A source identity can't be used; the message names the field, the value received and what is allowed."""


class BackendError(P2PRegistryError):
    """A store failed; raised by backends, and answered by the service as modelexpress' clients expect."""

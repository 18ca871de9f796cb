"""The errors of p2p_registry.

P2PRegistryError
├── InvalidIdentityError        a source identity holds what the wire can't carry, or has no model name to be listed under
├── BackendError                the store behind the registry can't be reached, or refuses
├── PublisherSettingError       a setting of a publisher is out of range
├── RegistryUnreachableError    a call to the registry failed
└── SourceGoneError             a listed source isn't there any more, or another process took its place
"""


class P2PRegistryError(Exception):
    """Base of every error that p2p_registry raises."""


class InvalidIdentityError(P2PRegistryError, ValueError):
    """A source identity can't be used; the message names the field, the value received and what is allowed."""


class BackendError(P2PRegistryError):
    """A store failed; raised by backends, and answered by the service as modelexpress' clients expect."""


class PublisherSettingError(P2PRegistryError, ValueError):
    """A publisher can't work like that; the message names the setting, the value received and what is allowed."""


class RegistryUnreachableError(P2PRegistryError):
    """A call to the registry failed; the message names gRPC's status and what the peer said."""


class SourceGoneError(P2PRegistryError):
    """A source that was listed can't be pulled from any more: try the next one."""

"""The errors of p2p_registry.

P2PRegistryError
├── InvalidIdentityError        a source identity holds what the wire can't carry, or has no model name to be listed under
├── SettingError                the value of a setting isn't allowed, by itself or beside another; nothing was started
├── CredentialFileError         a certificate, key or token file can't be used; nothing was started
├── BindError                   the address can't be listened on; nothing was started
├── AlreadyStartedError         a publisher or server was started before; it goes on as it was
├── InvalidBackendUrlError      no store can be opened from a URL
├── MissingExtraError           an optional dependency of the requested store is not installed
├── BackendError                the store behind the registry can't be reached, or refuses
│   └── RecordRefusedError      the store works, but has no place for such a record
├── RegistryUnreachableError    a call to the registry failed
└── SourceGoneError             a listed source isn't there any more, or another process took its place
"""

from pathlib import Path


class P2PRegistryError(Exception):
    """Base of every error that p2p_registry raises.

    What to do: read the message, which names what was received, what is allowed and what to change.
    """


class InvalidIdentityError(P2PRegistryError, ValueError):
    """A source identity can't be used; the message names the field, the value received and what is allowed."""


class SettingError(P2PRegistryError, ValueError):
    """A setting can't be used; the message names the setting, the value received and what is allowed."""

    def __init__(self, setting: str, value: object, rule: str) -> None:
        """Give the parts of the sentence; `rule` is its end."""
        super().__init__(f"{setting}={value} {rule}")


class CredentialFileError(P2PRegistryError):
    """A certificate, key or token file can't be used; the message names setting and file, and shows nothing of what it holds.

    What to do: mend the file; a running server keeps what it read before.
    """

    def __init__(self, setting: str, path: Path, why: str) -> None:
        """Name the setting, the file and what is wrong with it."""
        super().__init__(f"{setting}={path} can't be used: {why}")


class BindError(P2PRegistryError, OSError):
    """An address can't be listened on; the message says why.

    What to do: choose another address, or end who holds this one.
    """


class AlreadyStartedError(P2PRegistryError, RuntimeError):
    """A publisher or server that was started, or stopped, is started again; the message says what to do."""

    def __init__(self, what: str) -> None:
        """Name what was started."""
        super().__init__(f"{what} was started or stopped before: make another one")


class InvalidBackendUrlError(P2PRegistryError, ValueError):
    """A URL names no store; the message says what is allowed, and holds nothing of the URL that could be a password.

    What to do: write the URL as the message says.
    """


class MissingExtraError(P2PRegistryError, ImportError):
    """A store was asked for whose optional dependency is absent; the message names the extra to install.

    What to do: install the extra that the message names.
    """

    def __init__(self, feature: str, extra: str) -> None:
        """Name the store that was asked for and the extra that brings it."""
        super().__init__(f"{feature} needs an optional dependency: pip install 'p2p-registry[{extra}]'")
        self.feature = feature
        self.extra = extra


class BackendError(P2PRegistryError):
    """A store failed; raised by backends, and answered by the service as modelexpress' clients expect.

    What to do: bring the store back; the service goes on answering, with refusals, until then.
    """


class RecordRefusedError(BackendError):
    """A store works, but has no place for a record with such ids or numbers; publishing it again doesn't help."""


class RegistryUnreachableError(P2PRegistryError):
    """A call to the registry failed; the message names gRPC's status and what the peer said.

    What to do: try again later, or load the weights without a peer.
    """


class SourceGoneError(P2PRegistryError):
    """A source that was listed can't be pulled from any more: try the next one.

    What to do: try the next source of the listing.
    """

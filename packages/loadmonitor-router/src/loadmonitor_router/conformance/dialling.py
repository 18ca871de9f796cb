"""How the kit dials the Worker under test: all its connections alike."""

from dataclasses import dataclass, field

import grpc.aio

from loadmonitor_proto.channel import client_options
from loadmonitor_router._channel import make_channel
from loadmonitor_router._credential_files import TlsMaterial, read_metadata, read_tls
from loadmonitor_router.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Dialling:
    """Where the Worker listens, and what it is shown there.

    Attributes:
        address: Its address.
        options: Channel options of every connection.
        tls: The certificates, or None for plaintext.
        metadata: Metadata of every call: the token, where there is one.
    """

    address: str
    options: tuple[tuple[str, int | str], ...]
    tls: TlsMaterial | None
    metadata: tuple[tuple[str, str], ...] = field(repr=False)

    def channel(self) -> grpc.aio.Channel:
        """Return a connection of its own."""
        return make_channel(self.address, self.tls, self.options)


def read_dialling(address: str, credentials: Credentials) -> Dialling:
    """Read the files of the credentials.

    Raises:
        CredentialFileError: One of them can't be used.
    """
    options = client_options(credentials.channel_options())
    return Dialling(address, tuple(options.items()), read_tls(credentials), read_metadata(credentials))

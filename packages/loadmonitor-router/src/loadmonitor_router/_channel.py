"""Makes a client's channel of what its certificate files hold."""

from collections.abc import Sequence

import grpc
import grpc.aio

from loadmonitor_router._credential_files import TlsMaterial


def make_channel(address: str, tls: TlsMaterial | None, options: Sequence[tuple[str, int | str]]) -> grpc.aio.Channel:
    """Return a channel to the address, in plaintext without TLS material; nothing is dialled yet."""
    if tls is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(
        address, grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate), options=options
    )

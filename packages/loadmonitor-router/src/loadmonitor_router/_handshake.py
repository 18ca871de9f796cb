"""Why a connection failed at its TLS: from gRPC's words, and where these say nothing, from a look of our own."""

import asyncio
import socket
import ssl
from collections.abc import Callable

from loadmonitor_router._stream import StreamLostError
from loadmonitor_router.connection import TlsFault
from loadmonitor_router.credentials import Credentials

_LOOK_SECONDS = 0.25
_ADVICE: dict[TlsFault, Callable[[Credentials], str]] = {
    TlsFault.UNKNOWN_CA: lambda given: (
        f"the Worker's certificate isn't signed by a CA in {given.tls_ca_file}: give the Workers' CA as tls_ca_file"
    ),
    TlsFault.EXPIRED: lambda _: (
        "the Worker's certificate has expired: renew it (its tls_cert_file), or set this machine's clock right"
    ),
    TlsFault.NOT_YET_VALID: lambda _: (
        "the Worker's certificate isn't valid yet: set the clock right, here or where it is made"
    ),
    TlsFault.WRONG_NAME: lambda given: (
        f"the Worker's certificate isn't for {given.tls_server_name or 'the host that was dialled'}: "
        "give a name that stands in it as tls_server_name, or have it issued for this one"
    ),
    TlsFault.NO_CLIENT_CERTIFICATE: lambda _: (
        "the Worker hung up after the handshake, as one does that asks for a certificate: "
        "give this router's as tls_cert_file and tls_key_file"
    ),
    TlsFault.CLIENT_CERTIFICATE_REFUSED: lambda given: (
        f"the Worker hung up after the handshake, as one does that doesn't accept the certificate in {given.tls_cert_file}: "
        "it must not have expired, and a CA of the Worker's tls_client_ca_file must have signed it"
    ),
    TlsFault.PLAINTEXT_WORKER: lambda _: (
        "the Worker speaks plaintext: switch its TLS on (its tls_cert_file), or leave out tls_ca_file here"
    ),
    TlsFault.TLS_WORKER: lambda _: "the Worker speaks TLS: give its CA as tls_ca_file",
    TlsFault.OTHER: lambda _: "the handshake failed",
}
_WORDS = {
    "certificate has expired": TlsFault.EXPIRED,
    "certificate is not yet valid": TlsFault.NOT_YET_VALID,
    "Hostname Verification Check failed": TlsFault.WRONG_NAME,
    "is not in peer certificate": TlsFault.WRONG_NAME,  # as older releases of gRPC say it
    "WRONG_VERSION_NUMBER": TlsFault.PLAINTEXT_WORKER,
    "CERTIFICATE_VERIFY_FAILED": TlsFault.UNKNOWN_CA,
    "handshake failed": TlsFault.OTHER,
    "security handshaker": TlsFault.OTHER,
}
_HUNG_UP = ("Socket closed", "Connection reset")


class TlsError(StreamLostError):
    """The connection couldn't be had because of its TLS."""

    def __init__(self, fault: TlsFault, message: str) -> None:
        """Say what is wrong and what to change."""
        super().__init__(f"TLS: {message}", fault=fault)


async def explain_failure(loss: StreamLostError, address: str, given: Credentials) -> StreamLostError:
    """Return the loss that says what to change where TLS is at fault, else the same one.

    Args:
        loss: Why there is no connection, in gRPC's words.
        address: Who was dialled.
        given: What was shown and asked for.
    """
    words = str(loss)
    fault: TlsFault | None = None
    if given.encrypted:
        fault = next((fault for word, fault in _WORDS.items() if word in words), None)
        if fault is None and any(word in words for word in _HUNG_UP):
            asked_for = given.tls_cert_file is None
            fault = TlsFault.NO_CLIENT_CERTIFICATE if asked_for else TlsFault.CLIENT_CERTIFICATE_REFUSED
    elif any(word in words for word in _HUNG_UP) and await asyncio.to_thread(_speaks_tls, address):
        fault = TlsFault.TLS_WORKER
    return loss if fault is None else TlsError(fault, f"{_ADVICE[fault](given)} ({words})")


def _speaks_tls(address: str) -> bool:
    """Whether who listens there shakes hands over TLS. Nothing is said to it, so it doesn't matter who it is."""
    host, _, port = address.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout=_LOOK_SECONDS) as connection,
            context.wrap_socket(connection),
        ):
            return True
    except OSError:
        return False

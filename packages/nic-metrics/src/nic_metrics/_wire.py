"""A connection for http.client that waits until one moment, and takes so many bytes."""

import socket
import time
from io import BufferedReader, RawIOBase

from nic_metrics.errors import NicMetricsError


class TooLargeError(NicMetricsError):
    """More bytes came than are taken."""


# What the kernel has is read within that; 0 would be a socket that never waits, which readers don't expect.
_HERE_SECONDS = 0.001


class Wire(RawIOBase):
    """A connection all of whose waits end at one moment, and that takes so many bytes; http.client takes it for a socket.

    The count is kept here because http.client reads a chunk of a negative length until the server ends.
    """

    def __init__(self, sock: socket.socket, until: float, most: int) -> None:
        self._sock = sock
        self._until = until
        self._most = most
        self._reader = _Reader(self)

    @classmethod
    def connect(cls, host: str, port: int, *, tls: bool, until: float, most: int) -> "Wire":
        """Connect to the first address of a host that takes the connection.

        Args:
            host: Its name or address.
            port: The TCP port.
            tls: Whether to speak TLS, and check the host's certificate.
            until: When, in `time.monotonic()`, the waiting ends.
            most: Most bytes that are taken.

        Raises:
            TimeoutError: The time is over.
            OSError: No address takes it.
        """
        error = OSError("the name has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            wire = cls(socket.socket(family, kind, protocol), until, most)
            try:
                wire._open(address, host if tls else None)
            except OSError as failed:
                wire.release()
                error = failed
            else:
                return wire
        raise error

    def _open(self, address: object, certified: str | None) -> None:
        self._wait()
        self._sock.connect(address)  # type: ignore[arg-type] # as getaddrinfo gave it
        if certified is not None:
            import ssl  # noqa: PLC0415 - engines mostly speak without

            self._wait()
            self._sock = ssl.create_default_context().wrap_socket(self._sock, server_hostname=certified)

    def sendall(self, data: bytes) -> None:
        """Send all of it."""
        self._wait()
        self._sock.sendall(data)

    def makefile(self, mode: str) -> BufferedReader:  # noqa: ARG002 - http.client's question; it is always "rb"
        """Return what http.client reads from."""
        return self._reader

    def readable(self) -> bool:
        """Say yes, for BufferedReader."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # what BufferedReader gives is one
        """Receive what there is, at least a byte unless the server has ended."""
        self._wait()
        size = self._sock.recv_into(buffer)
        self._most -= size
        if self._most < 0:
            raise TooLargeError
        return size

    def has_more(self, *, wait: bool) -> bool:
        """Tell whether the server sends on after what it called the end; one that keeps silent until the deadline doesn't.

        Args:
            wait: Whether to wait for it; otherwise what is here counts.
        """
        if not wait:
            self._until = min(self._until, time.monotonic() + _HERE_SECONDS)
        try:
            return bool(self._reader.read(1))
        except (TimeoutError, ConnectionError):
            return False

    def close(self) -> None:
        """Stay open: http.client closes before it reads."""

    def release(self) -> None:
        """Let go of the socket."""
        self._sock.close()
        del self._reader

    def _wait(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)


class _Reader(BufferedReader):
    """Stays open when http.client has what it wants, so that what follows can be looked at."""

    def close(self) -> None:
        """Leave it to whoever opened the connection."""

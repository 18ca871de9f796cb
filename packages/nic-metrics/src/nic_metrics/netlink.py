"""A port's statistics from the kernel's RDMA netlink family, for ports whose counters no file shows.

Virtual functions and devices that are shared into a container's network namespace have no `counters` and no `hw_counters` there,
while netlink answers without any privilege. It gives what `hw_counters` would, plus optional counters that somebody switched on.
On mlx5 the totals of bytes are such counters: `rdma statistic set link mlx5_0/1 optional-counters rdma_tx_bytes,rdma_rx_bytes`
on the host, by an administrator.
"""

import errno
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from nic_metrics import _netlink_messages as wire
from nic_metrics.ports import PortId

# The kernel answers before `send` returns; this is for what isn't a kernel.
_TIMEOUT_SECONDS = 0.5
_BUFFER = 65536
# A list of devices takes a few; whoever sends more isn't answering.
_MOST_RECEIVED = 64
# This kernel, or this sandbox, has no such family.
_UNSUPPORTED = frozenset({errno.EPROTONOSUPPORT, errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES})


def open_rdma_socket() -> socket.socket:
    """Open a netlink socket to the kernel's RDMA family.

    Raises:
        OSError: The kernel or the sandbox has none; systems other than Linux too.
    """
    family: int | None = getattr(socket, "AF_NETLINK", None)
    if family is None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
    return socket.socket(family, socket.SOCK_RAW | socket.SOCK_CLOEXEC, wire.NETLINK_RDMA)


class NetlinkStatistics:
    """Reads statistics of ports by netlink; the `PortStatistics` of a `PortSampler`.

    Safe to call from several threads. Opens its socket when first asked and keeps it; a child process opens one of its own.
    """

    def __init__(self, open_socket: Callable[[], socket.socket] = open_rdma_socket) -> None:
        """Name what opens the socket; nothing is opened yet.

        Args:
            open_socket: Opens a socket that keeps messages apart, to a peer that speaks the kernel's messages.
        """
        self._open_socket = open_socket
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._owner = 0
        self._sequence = 0
        self._indices: dict[str, int] = {}
        self._refused: set[PortId] = set()
        self._unsupported = False

    def read(self, port: PortId) -> tuple[int, Mapping[str, int]] | None:
        """Read a port's counters now; never raises for what it reads.

        A port for which the kernel says EINVAL isn't asked for again until `enable`.

        Returns:
            The kernel's index of the device, which a device that comes anew under the name doesn't inherit, and the counters by
            name; None when there are none to be had.
        """
        with self._lock:
            if self._unsupported or port in self._refused:
                return None
            try:
                return self._read(port)
            except OSError as error:
                self._drop()
                self._unsupported = error.errno in _UNSUPPORTED
                return None

    def knows(self, port: PortId) -> bool:
        """Tell whether the kernel had the port's device when it was last asked, and answers for the port."""
        with self._lock:
            return port.device in self._indices and port not in self._refused

    def enable(self) -> None:
        """Ask again for ports that were refused, and try the socket again where there was none."""
        with self._lock:
            self._refused.clear()
            self._unsupported = False

    def close(self) -> None:
        """Close the socket; the next read opens one."""
        with self._lock:
            self._drop()

    def _read(self, port: PortId) -> tuple[int, Mapping[str, int]] | None:
        known = self._indices.get(port.device)
        if known is not None:
            found = self._ask(port, known)
            if isinstance(found, dict):
                return known, found
        # Not known yet, or the device that was may be gone and another be there under its name.
        self._indices = self._list()
        index = self._indices.get(port.device)
        if index is None:
            return None
        answer = self._ask(port, index)
        if isinstance(answer, dict):
            return index, answer
        if answer == errno.EINVAL:
            self._refused.add(port)
        return None

    def _ask(self, port: PortId, index: int) -> dict[str, int] | int:
        """Ask for a port's counters; an errno when the kernel refuses, or when the index is another device's by now."""
        sequence = self._next()
        for message in self._answers(wire.statistics_request(sequence, index, port.port), sequence):
            if message.kind == wire.ERROR:
                return wire.error_number(message.payload) or errno.EIO
            if message.kind == wire.GET_STATISTICS:
                device = wire.device(message.payload)
                return wire.counters(message.payload) if device == (index, port.device) else errno.ENODEV
        return errno.EIO

    def _list(self) -> dict[str, int]:
        sequence, indices = self._next(), {}
        for message in self._answers(wire.list_devices_request(sequence), sequence):
            if message.kind in {wire.DONE, wire.ERROR}:
                break
            device = wire.device(message.payload)
            if device is not None:
                indices[device.name] = device.number
        return indices

    def _answers(self, request: bytes, sequence: int) -> Iterator[wire.Message]:
        """Send a request and give what answers it, for as long as the caller wants more."""
        connection = self._connected()
        connection.send(request)
        for _ in range(_MOST_RECEIVED):
            for message in wire.messages(connection.recv(_BUFFER)):
                if message.sequence == sequence:
                    yield message
        raise OSError(errno.EBADMSG, os.strerror(errno.EBADMSG))

    def _connected(self) -> socket.socket:
        # A socket that a fork shares would give one process the answers to the other.
        if self._socket is None or self._owner != os.getpid():
            self._drop()
            self._socket, self._owner = self._open_socket(), os.getpid()
            self._socket.settimeout(_TIMEOUT_SECONDS)
        return self._socket

    def _next(self) -> int:
        self._sequence = self._sequence % 0xFFFF_FFFF + 1
        return self._sequence

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

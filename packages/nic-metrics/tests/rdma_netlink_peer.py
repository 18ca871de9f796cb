"""A stand-in for the kernel's RDMA netlink family, on a socket that keeps messages apart.

It builds its messages on its own, from `rdma/rdma_netlink.h` and what the kernel's `nldev.c` puts into them; nothing of the
reader is used.
"""

import errno
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread

NLDEV_GET, NLDEV_STAT_GET = 5 << 10 | 1, 5 << 10 | 17
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_MULTI, NLM_F_DUMP = 1, 2, 0x300
NLA_F_NESTED = 1 << 15


def attribute(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)


def nest(kind: int, *inner: bytes) -> bytes:
    return attribute(kind | NLA_F_NESTED, b"".join(inner))


def message(kind: int, sequence: int, payload: bytes, flags: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(payload), kind, flags, sequence, 4242) + payload


def u32(value: int) -> bytes:
    return struct.pack("=I", value)


def handle(index: int, name: str) -> bytes:
    return attribute(1, u32(index)) + attribute(2, name.encode() + b"\0")


def statistics(sequence: int, index: int, name: str, port: int, counters: dict[str, int]) -> bytes:
    """Build the answer to STAT_GET for a port's default counter."""
    entries = [
        nest(81, attribute(82, counter.encode() + b"\0"), attribute(83, struct.pack("=Q", value)))
        for counter, value in counters.items()
    ]
    return message(NLDEV_STAT_GET, sequence, handle(index, name) + attribute(3, u32(port)) + nest(80, *entries))


@dataclass
class FakeDevice:
    index: int
    # The counters of each port; a port that isn't there answers EINVAL.
    ports: dict[int, dict[str, int]] = field(default_factory=dict)


class FakeKernel:
    """Answers list and statistics requests on as many sockets as are opened."""

    def __init__(self) -> None:
        self.devices: dict[str, FakeDevice] = {}
        self.opened = 0
        self.requests: list[int] = []
        # The newest answer to each kind of request, datagram by datagram.
        self.answered: dict[int, list[bytes]] = {}
        # Replaces the answer to STAT_GET, when set.
        self.answer: Callable[[int], list[bytes]] | None = None
        self._threads: list[Thread] = []
        self._ends: list[socket.socket] = []

    def open(self) -> socket.socket:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.opened += 1
        self._ends.append(far)
        thread = Thread(target=self._serve, args=(far,), daemon=True)
        self._threads.append(thread)
        thread.start()
        return near

    def close(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _serve(self, end: socket.socket) -> None:
        # A reader that gave up has closed its end, perhaps with answers unread.
        with suppress(BrokenPipeError, ConnectionResetError):
            while request := end.recv(65536):
                answers = self._answers(request)
                self.answered[self.requests[-1]] = answers
                for answer in answers:
                    end.send(answer)

    def _answers(self, request: bytes) -> list[bytes]:
        length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", request)
        assert length == len(request)
        assert flags & NLM_F_REQUEST
        self.requests.append(kind)
        if kind == NLDEV_GET:
            assert flags & NLM_F_DUMP == NLM_F_DUMP
            parts = [
                message(NLDEV_GET, sequence, handle(device.index, name), NLM_F_MULTI)
                for name, device in self.devices.items()
            ]
            # The kernel puts several into one datagram, and the end into another.
            return (
                [b"".join(parts), message(NLMSG_DONE, sequence, u32(0), NLM_F_MULTI)]
                if parts
                else [message(NLMSG_DONE, sequence, u32(0), NLM_F_MULTI)]
            )
        assert kind == NLDEV_STAT_GET
        if self.answer is not None:
            return self.answer(sequence)
        asked = dict(self._u32s(request[16:]))
        for name, device in self.devices.items():
            if device.index == asked[1] and asked[3] in device.ports:
                return [statistics(sequence, device.index, name, asked[3], device.ports[asked[3]])]
        return [error(sequence, errno.EINVAL, request)]

    @staticmethod
    def _u32s(body: bytes) -> Iterator[tuple[int, int]]:
        for offset in range(0, len(body), 8):
            length, kind, value = struct.unpack_from("=HHI", body, offset)
            assert length == 8
            yield kind, value


def error(sequence: int, number: int, request: bytes) -> bytes:
    return message(NLMSG_ERROR, sequence, struct.pack("=i", -number) + request)


@contextmanager
def fake_kernel() -> Iterator[FakeKernel]:
    kernel = FakeKernel()
    try:
        yield kernel
    finally:
        kernel.close()

"""The messages of the kernel's RDMA netlink family that give a port's statistics. Pure: bytes in, values out.

Numbers are those of `rdma/rdma_netlink.h`; every field is in the host's byte order.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

NETLINK_RDMA = 20
GET_DEVICES = 5 << 10 | 1
GET_STATISTICS = 5 << 10 | 17
ERROR = 2
DONE = 3
_REQUEST = 0x01
_DUMP = 0x300

_DEVICE_INDEX = 1
_DEVICE_NAME = 2
_PORT_INDEX = 3
_COUNTERS = 80
_COUNTER = 81
_COUNTER_NAME = 82
_COUNTER_VALUE = 83
# The two highest bits say "nested" and "byte order".
_TYPE_MASK = 0x3FFF

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_U32 = struct.Struct("=I")
_I32 = struct.Struct("=i")
_U64 = struct.Struct("=Q")


class Message(NamedTuple):
    """A netlink message without its header.

    Attributes:
        kind: Its type: one of this module's, or another.
        sequence: The number of the request that it answers.
        payload: What follows the header.
    """

    kind: int
    sequence: int
    payload: bytes


class Device(NamedTuple):
    """A device as netlink knows it: by a number that the kernel doesn't give twice."""

    number: int
    name: str


def list_devices_request(sequence: int) -> bytes:
    """Ask for every device: the answer is a message a device, then `DONE`."""
    return _request(GET_DEVICES, _REQUEST | _DUMP, sequence, b"")


def statistics_request(sequence: int, device_index: int, port: int) -> bytes:
    """Ask for the statistics of a port: the answer is one message, or `ERROR`."""
    body = _attribute(_DEVICE_INDEX, _U32.pack(device_index)) + _attribute(_PORT_INDEX, _U32.pack(port))
    return _request(GET_STATISTICS, _REQUEST, sequence, body)


def messages(data: bytes) -> Iterator[Message]:
    """Split what one `recv` gave; what is cut off at the end is left out."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size or offset + length > len(data):
            return
        yield Message(kind, sequence, data[offset + _HEADER.size : offset + length])
        offset += _aligned(length)


def error_number(payload: bytes) -> int:
    """Read the errno of an `ERROR` message; 0 is an acknowledgement or one that was cut off."""
    return -_I32.unpack_from(payload)[0] if len(payload) >= _I32.size else 0


def device(payload: bytes) -> Device | None:
    """Read which device a message is about; None when it doesn't say."""
    index, name = None, None
    for kind, value in _attributes(payload):
        if kind == _DEVICE_INDEX and len(value) >= _U32.size:
            index = _U32.unpack_from(value)[0]
        elif kind == _DEVICE_NAME:
            name = _text(value)
    return None if index is None or name is None else Device(index, name)


def counters(payload: bytes) -> dict[str, int]:
    """Read the counters of a port's statistics."""
    found: dict[str, int] = {}
    for kind, nest in _attributes(payload):
        if kind != _COUNTERS:
            continue
        for inner, entry in _attributes(nest):
            if inner != _COUNTER:
                continue
            fields = dict(_attributes(entry))
            name, value = fields.get(_COUNTER_NAME, b""), fields.get(_COUNTER_VALUE, b"")
            if name and len(value) >= _U64.size:
                found[_text(name)] = _U64.unpack_from(value)[0]
    return found


def _request(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def _attribute(kind: int, value: bytes) -> bytes:
    length = _ATTRIBUTE.size + len(value)
    return _ATTRIBUTE.pack(length, kind) + value.ljust(_aligned(length) - _ATTRIBUTE.size, b"\0")


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size or offset + length > len(data):
            return
        yield kind & _TYPE_MASK, data[offset + _ATTRIBUTE.size : offset + length]
        offset += _aligned(length)


def _aligned(length: int) -> int:
    return length + 3 & ~3


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode("utf-8", "replace")

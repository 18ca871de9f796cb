"""HTTP/2 frames as a middlebox sees and writes them: RFC 9113, section 4.1, by hand."""

import struct
from dataclasses import dataclass
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADER_BYTES = 9


class Kind(IntEnum):
    """The frame types that matter here."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    GOAWAY = 7


class Reason(IntEnum):
    """Error codes of RST_STREAM and GOAWAY."""

    NO_ERROR = 0
    INTERNAL_ERROR = 2
    REFUSED_STREAM = 7
    CANCEL = 8
    ENHANCE_YOUR_CALM = 11


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with its header."""

    kind: int
    stream_id: int
    raw: bytes


def rst_stream(stream_id: int, reason: Reason) -> bytes:
    """Return a RST_STREAM frame."""
    return _frame(Kind.RST_STREAM, stream_id, struct.pack(">I", reason))


def goaway(last_stream_id: int, reason: Reason, debug: bytes = b"") -> bytes:
    """Return a GOAWAY frame."""
    return _frame(Kind.GOAWAY, 0, struct.pack(">II", last_stream_id, reason) + debug)


def _frame(kind: Kind, stream_id: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + struct.pack(">I", stream_id) + payload


class Splitter:
    """Cuts a byte stream into whole frames; a client's preface passes as a frame of kind -1."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """Take in bytes; return the frames that are complete now."""
        self._rest += data
        frames = []
        while (size := self._next_size()) is not None:
            raw, self._rest = self._rest[:size], self._rest[size:]
            if raw == PREFACE:
                frames.append(Frame(-1, 0, raw))
            else:
                frames.append(Frame(raw[3], int.from_bytes(raw[5:9], "big") & 0x7FFF_FFFF, raw))
        return frames

    def _next_size(self) -> int | None:
        if self._rest.startswith(PREFACE):
            return len(PREFACE)
        if len(self._rest) < _HEADER_BYTES or PREFACE.startswith(self._rest):
            return None
        size = _HEADER_BYTES + int.from_bytes(self._rest[:3], "big")
        return size if len(self._rest) >= size else None

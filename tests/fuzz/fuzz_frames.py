"""Frames as no peer of ours would send them, and as it would: bytes for hypothesis to draw.

Messages are drawn from their descriptors, so that a field added to the contract is fuzzed from its first day.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

from loadmonitor_proto import KeepAlive, RegisterRequest, RouterFrame, UpdateConfigRequest, WorkerFrame
from loadmonitor_router.testing import wire_rank, wire_report

Strategy = st.SearchStrategy

MOST_FRAMES = 80
OVERSIZED = b"\x0a" * 70_000

_EDGES = (0, 1, -1, 2, 10, 100, 256, 1_000, 2**31 - 1, -(2**31), 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63))


def _integers(least: int, most: int) -> Strategy[int]:
    return st.sampled_from([edge for edge in _EDGES if least <= edge <= most]) | st.integers(least, most)


_TEXTS = st.sampled_from(["", " ", "a", "b", "a", "\0", "é\U0001f9ea", "x" * 256, "x" * 257]) | st.text(max_size=6)
_INT64 = _integers(-(2**63), 2**63 - 1)
_VALUES: dict[int, Strategy[Any]] = {
    FieldDescriptor.TYPE_INT32: _integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: _INT64,
    FieldDescriptor.TYPE_UINT32: _integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: _integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_ENUM: st.sampled_from([0, 1, 2, 3, 4, 99, -1, 2**31 - 1, -(2**31)]),
    FieldDescriptor.TYPE_DOUBLE: st.sampled_from(
        [0.0, -0.0, 0.5, 1.0, -1.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")]
    )
    | st.floats(),
    FieldDescriptor.TYPE_STRING: _TEXTS,
}


@cache
def _fields(descriptor: Descriptor) -> Strategy[dict[str, Any]]:
    """Draw any subset of a message's fields, with any values that their types allow."""
    return st.fixed_dictionaries({}, optional={field.name: _value(field) for field in descriptor.fields})


def _value(field: FieldDescriptor) -> Strategy[Any]:
    one = _VALUES[field.type] if field.message_type is None else _fields(field.message_type)
    return st.lists(one, max_size=3) if field.is_repeated else one


def _fill(message: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        if isinstance(value, dict):
            getattr(message, name).SetInParent()
            _fill(getattr(message, name), value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    _fill(getattr(message, name).add(), item)
                else:
                    getattr(message, name).append(item)
        else:
            setattr(message, name, value)
    return message


def _any_message(kind: Callable[[], Any]) -> Strategy[bytes]:
    """Draw a frame with one payload, whose fields hold anything."""
    payloads = [st.fixed_dictionaries({field.name: _value(field)}) for field in kind().DESCRIPTOR.fields]
    return st.one_of(payloads).map(lambda values: bytes(_fill(kind(), values).SerializeToString()))


def _tag(number: int, wire_type: int) -> bytes:
    key, encoded = number << 3 | wire_type, bytearray()
    while key > 0x7F:
        encoded.append(key & 0x7F | 0x80)
        key >>= 7
    return bytes([*encoded, key])


_UNKNOWN_FIELDS = st.one_of(
    st.builds(lambda number: _tag(number, 0) + b"\x01", st.sampled_from([5, 99, 1_000, 2**29 - 1])),
    st.builds(lambda data: _tag(77, 2) + bytes([len(data)]) + data, st.binary(max_size=8)),
    st.just(_tag(78, 1) + bytes(8)),
    st.just(_tag(79, 3) + _tag(79, 4)),
)


@dataclass(frozen=True)
class Mutation:
    """A change of a frame's bytes, at a place between 0 and 1 of its length."""

    kind: str
    place: float
    data: bytes

    def apply(self, frame: bytes) -> bytes:
        at = int(self.place * len(frame))
        if self.kind == "flip":
            flipped = bytearray(frame)
            for offset, byte in enumerate(self.data[: len(frame) - at]):
                flipped[at + offset] ^= byte
            return bytes(flipped)
        if self.kind == "insert":
            return frame[:at] + self.data + frame[at:]
        if self.kind == "cut":
            return frame[:at] + frame[at + len(self.data) :]
        if self.kind == "truncate":
            return frame[:at]
        return frame[:at] + frame  # "repeat"


_MUTATIONS = st.builds(
    Mutation,
    st.sampled_from(["flip", "insert", "cut", "truncate", "repeat"]),
    st.floats(0, 1, exclude_max=True),
    st.binary(min_size=1, max_size=4),
)


def _mutated(frames: Strategy[bytes]) -> Strategy[bytes]:
    return st.builds(lambda frame, mutation: mutation.apply(frame), frames, _MUTATIONS)


def _bytes(kind: Callable[..., Any], **payload: Any) -> bytes:
    return bytes(kind(**payload).SerializeToString())


SANE_REGISTERS = st.builds(
    lambda router_id, interval_ms, lease_ms, window: _bytes(
        RouterFrame,
        register=RegisterRequest(
            router_id=router_id, report_interval_ms=interval_ms, lease_ttl_ms=lease_ms, max_unacked_reports=window
        ),
    ),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([1, 10, 1_000, 2**63 - 1]),
    st.sampled_from([1, 1_000, 60_000, 2**63 - 1]),
    st.sampled_from([None, 1, 2, 2**32 - 1]),
)
SANE_ROUTER_FRAMES = st.one_of(
    st.just(_bytes(RouterFrame, keep_alive=KeepAlive())),
    st.just(_bytes(RouterFrame, keep_alive=KeepAlive(acked_sequence_id=0))),
    st.builds(
        lambda interval_ms, lease_ms: _bytes(
            RouterFrame, update_config=UpdateConfigRequest(report_interval_ms=interval_ms, lease_ttl_ms=lease_ms)
        ),
        st.none() | _integers(1, 2**63 - 1),
        st.none() | _integers(1, 2**63 - 1),
    ),
    st.builds(
        lambda frame, unknown: frame + unknown, st.just(_bytes(RouterFrame, keep_alive=KeepAlive())), _UNKNOWN_FIELDS
    ),
)
ODD_ROUTER_FRAMES = st.one_of(
    _any_message(RouterFrame),
    _mutated(SANE_REGISTERS | _any_message(RouterFrame)),
    st.binary(max_size=40),
    SANE_REGISTERS,
)


def _reports(changed: Strategy[dict[str, Any]]) -> Strategy[bytes]:
    """Draw reports that are plausible but for a few fields of the report and of its ranks."""

    def build(values: dict[str, Any], ranks: Sequence[dict[str, Any]], sequence_id: int) -> bytes:
        report = wire_report(sequence_id, ranks=[_fill(wire_rank(number), rank) for number, rank in enumerate(ranks)])
        return _bytes(WorkerFrame, report=_fill(report, values))

    return st.builds(
        build,
        st.just({}) | changed,
        st.lists(st.just({}) | _few(wire_rank().DESCRIPTOR), max_size=3),
        st.integers(0, 99),
    )


def _few(descriptor: Descriptor) -> Strategy[dict[str, Any]]:
    """Draw one or two fields of a message that end no stream."""
    single = [field for field in descriptor.fields if not field.is_repeated and field.name != "report_time_unix_ms"]
    one = st.sampled_from(single).flatmap(lambda field: _value(field).map(lambda value: {field.name: value}))
    return st.builds(lambda first, second: first | second, one, st.just({}) | one)


ACKNOWLEDGEMENTS = st.sampled_from(
    [
        _bytes(WorkerFrame, registered={"lease_ttl_ms": 15_000, "renew_after_ms": 5_000}),
        _bytes(
            WorkerFrame,
            registered={
                "lease_ttl_ms": 15_000,
                "renew_after_ms": 5_000,
                "report_interval_ms": 1_000,
                "stale_after_ms": 3_000,
                "source_instance_id": "a",
                "min_report_interval_ms": 10,
                "max_lease_ttl_ms": 300_000,
            },
        ),
    ]
)
SANE_WORKER_FRAMES = _reports(_few(wire_report(1).DESCRIPTOR))
ODD_WORKER_FRAMES = st.one_of(
    _any_message(WorkerFrame),
    _mutated(SANE_WORKER_FRAMES | _any_message(WorkerFrame)),
    st.builds(lambda frame, unknown: frame + unknown, SANE_WORKER_FRAMES, _UNKNOWN_FIELDS),
    st.binary(max_size=40),
    ACKNOWLEDGEMENTS,
)


@dataclass(frozen=True)
class Stream:
    """What one side says on one stream, and how it ends it."""

    frames: list[bytes]
    ending: str


def _streams(
    first: Strategy[bytes], sane: Strategy[bytes], odd: Strategy[bytes], endings: Sequence[str]
) -> Strategy[Stream]:
    """Draw streams that mostly begin as they should, live for a while, and end with a few frames that may be anything."""
    return st.builds(
        lambda opening, live, end, ending: Stream([*opening, *live, *end], ending),
        st.sampled_from([first, first, first, first, odd]).flatmap(
            lambda frames: st.lists(frames, min_size=1, max_size=1)
        ),
        st.lists(sane, max_size=MOST_FRAMES) | st.lists(sane, min_size=MOST_FRAMES // 2, max_size=MOST_FRAMES),
        st.lists(odd, max_size=4),
        st.sampled_from(endings),
    )


ROUTER_STREAMS = st.lists(
    _streams(SANE_REGISTERS, SANE_ROUTER_FRAMES, ODD_ROUTER_FRAMES, ["half_close", "cancel", "wait", "oversize"]),
    min_size=1,
    max_size=3,
)
WORKER_STREAMS = st.lists(
    _streams(ACKNOWLEDGEMENTS, SANE_WORKER_FRAMES, ODD_WORKER_FRAMES, ["ok", "unavailable", "internal", "odd"]),
    min_size=1,
    max_size=3,
)
WORKER_FRAMES = SANE_WORKER_FRAMES | ODD_WORKER_FRAMES

"""The layout of SGLang's load snapshot file: what any bytes are read as."""

import struct
from collections.abc import Iterator, Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker.errors import SourceUnavailableError
from loadmonitor_worker.sources._shm_layout import ShmHeader, ShmReason, SlotFault, parse_header, parse_slot

SLOT = 256
decode = msgspec.msgpack.decode
maps = st.dictionaries(st.text(max_size=8), st.integers(0, 2**40) | st.floats(allow_nan=False), max_size=6)


def slot(fields: Mapping[str, object], size: int = SLOT) -> bytes:
    payload = msgspec.msgpack.encode(fields)
    return (struct.pack("<I", len(payload)) + payload).ljust(size, b"\0")


def read(copy: bytes) -> Mapping[object, object] | SlotFault:
    return parse_slot(copy, copy, slot_size=SLOT, decode=decode)


def header(magic: bytes = b"SLNS", version: int = 2, dp_size: int = 8, slot_size: int = 16_384) -> bytes:
    return struct.pack("<4sHHI", magic, version, dp_size, slot_size)


def reason_of(data: bytes, *, file_size: int = 10**9, dp_size: int | None = None) -> str | None:
    try:
        parse_header(data, where="file").check(file_size=file_size, dp_size=dp_size, where="file")
    except SourceUnavailableError as error:
        return error.reason
    return None


def test_a_header_of_the_known_version_is_read() -> None:
    parsed = parse_header(header(), where="file")
    assert parsed == ShmHeader(version=2, dp_size=8, slot_size=16_384)
    assert parsed.slot_offset(3) == 12 + 3 * 16_384
    assert parsed.file_size == 12 + 8 * 16_384


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(), None),
        (header()[:11], ShmReason.INCOMPLETE_FILE),
        (b"", ShmReason.INCOMPLETE_FILE),
        (bytes(12), ShmReason.INCOMPLETE_FILE),
        (header(magic=b"SLNX"), ShmReason.WRONG_MAGIC),
        (header(version=1), ShmReason.OTHER_VERSION),
        (header(version=3), ShmReason.OTHER_VERSION),
        (header(dp_size=0), ShmReason.OTHER_VERSION),
        (header(slot_size=4), ShmReason.OTHER_VERSION),
        (header(slot_size=5), None),
    ],
)
def test_every_way_a_header_can_be_wrong_has_its_word(data: bytes, reason: str | None) -> None:
    assert reason_of(data) == reason


def test_a_file_of_another_number_of_ranks_is_told_apart_from_a_short_one() -> None:
    assert reason_of(header(dp_size=8), dp_size=8) is None
    assert reason_of(header(dp_size=8), dp_size=4, file_size=12) == ShmReason.OTHER_DP_SIZE
    assert reason_of(header(dp_size=8), file_size=12 + 8 * 16_384) is None
    assert reason_of(header(dp_size=8), file_size=12 + 8 * 16_384 - 1) == ShmReason.INCOMPLETE_FILE


@given(st.binary(max_size=24), st.integers(0, 2**40), st.none() | st.integers(1, 65_535))
def test_no_header_raises_anything_but_its_own_error(data: bytes, file_size: int, dp_size: int | None) -> None:
    reason_of(data, file_size=file_size, dp_size=dp_size)


@given(maps)
def test_a_whole_slot_is_read_as_its_map(fields: dict[str, object]) -> None:
    assert read(slot(fields)) == fields


@given(st.binary(max_size=SLOT + 8), st.binary(max_size=SLOT + 8))
def test_no_bytes_raise(first: bytes, second: bytes) -> None:
    for pair in ((first, second), (first, first), (second, second)):
        result = parse_slot(*pair, slot_size=SLOT, decode=decode)
        assert isinstance(result, (dict, SlotFault))


@given(st.integers(0, SLOT), st.binary(max_size=SLOT))
def test_no_payload_of_a_plausible_length_raises(length: int, payload: bytes) -> None:
    assert isinstance(read((struct.pack("<I", length) + payload).ljust(SLOT, b"\0")), (dict, SlotFault))


def test_a_payload_nested_too_deeply_is_malformed() -> None:
    payload = b"\x91" * 5_000 + b"\xc0"
    copy = struct.pack("<I", len(payload)) + payload
    assert parse_slot(copy, copy, slot_size=8_192, decode=decode) is SlotFault.MALFORMED


@given(maps, st.integers(0, SLOT))
def test_a_slot_cut_short_is_whole_or_a_fault(fields: dict[str, object], size: int) -> None:
    whole = slot(fields)
    result = read(whole[:size])
    needed = 4 + struct.unpack("<I", whole[:4])[0]
    assert result == (fields if size >= needed else SlotFault.CUT_SHORT)


@pytest.mark.parametrize(
    ("copy", "fault"),
    [
        (bytes(SLOT), SlotFault.NOT_STARTED),
        (struct.pack("<I", 0) + slot({"a": 1})[4:], SlotFault.WRITING),
        (struct.pack("<I", SLOT - 3).ljust(SLOT, b"\x80"), SlotFault.OVERSIZED),
        (struct.pack("<I", SLOT - 4).ljust(SLOT, b"\x80"), SlotFault.MALFORMED),
        (struct.pack("<I", 2**32 - 1).ljust(SLOT, b"\x80"), SlotFault.OVERSIZED),
        (struct.pack("<I", 1) + b"\x07", SlotFault.MALFORMED),
        (struct.pack("<I", 2) + b"\x80\x00", SlotFault.MALFORMED),
        (bytes(4), SlotFault.CUT_SHORT),
        (bytes(3), SlotFault.CUT_SHORT),
    ],
)
def test_every_way_a_slot_can_be_wrong_is_told_apart(copy: bytes, fault: SlotFault) -> None:
    assert read(copy) is fault


def test_two_copies_that_differ_are_no_snapshot() -> None:
    old, new = slot({"a": 1}), slot({"a": 2})
    assert parse_slot(old, new, slot_size=SLOT, decode=decode) is SlotFault.CHANGING


def states_of_a_write(old: bytes, new: bytes) -> Iterator[bytes]:
    """Every state that memory passes through, byte by byte, while a slot is written in the writer's order."""
    memory = bytearray(old)
    steps = [*((index, 0) for index in range(4)), *enumerate(new[4:], start=4), *enumerate(new[:4])]
    for index, value in steps:
        memory[index] = value
        yield bytes(memory)


@given(maps, maps)
def test_a_writer_stopped_at_any_byte_never_leaves_a_value_that_was_not_written(
    old: dict[str, object], new: dict[str, object]
) -> None:
    for memory in states_of_a_write(slot(old), slot(new)):
        result = read(memory)
        assert isinstance(result, SlotFault) or result in (old, new)


def test_a_length_torn_between_two_lengths_is_rejected() -> None:
    long, short = {"a": "x" * 245}, {"a": "x" * 60}
    size = 1_024
    for fields in (long, short):
        whole = slot(fields, size)
        for length in range(size):
            copy = struct.pack("<I", length) + whole[4:]
            result = parse_slot(copy, copy, slot_size=size, decode=decode)
            assert isinstance(result, SlotFault) or result == fields

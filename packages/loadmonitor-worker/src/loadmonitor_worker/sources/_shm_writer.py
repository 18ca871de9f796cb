"""A writer of SGLang's load snapshot file: for tests and demonstrations, where no engine runs."""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._msgpack import msgpack_function
from loadmonitor_worker.sources._sglang_fields import to_sglang_fields
from loadmonitor_worker.sources._shm_layout import HEADER, MAGIC, SLOT_LENGTH, SLOT_SIZE, VERSION, ShmHeader

_MAP_16: Final = struct.Struct(">BH")


class SglangShmWriter:
    """Publishes the load of one rank as SGLang 0.5.23 does, byte for byte and step by step.

    The file is made when it isn't there, with mode 0600; it is never removed. Until the first `write` the slot says that
    the rank has not published yet. All space is taken at the start, so that a full file system is an OSError there.

    Args:
        path: The file, shared by the writers of all ranks.
        dp_size: Number of ranks, 1 to 65535.
        dp_rank: The rank that this writer publishes.

    Raises:
        ValueError: `dp_rank` isn't one of `dp_size` ranks.
        OSError: The file can't be made or written.
        MissingExtraError: msgspec isn't installed.
    """

    def __init__(self, path: str | os.PathLike[str], dp_size: int, dp_rank: int) -> None:
        if not 0 <= dp_rank < dp_size <= 65_535:
            raise ValueError(
                f"dp_rank={dp_rank} of dp_size={dp_size} is not allowed: 0 <= dp_rank < dp_size <= 65535 is"
            )
        self._encode = msgpack_function("encode", type(self).__name__)
        self._header = ShmHeader(VERSION, dp_size, SLOT_SIZE)
        self._dp_rank = dp_rank
        self._fd = os.open(Path(path), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            with self._locked():
                os.ftruncate(self._fd, self._header.file_size)
                os.posix_fallocate(self._fd, 0, self._header.file_size)
                self._put(HEADER.pack(MAGIC, VERSION, dp_size, SLOT_SIZE), 0)
                self._write_slot(self._payload({"dp_rank": dp_rank}))
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and leave it there, as SGLang does; not to be used afterwards."""
        os.close(self._fd)

    def write(self, snapshot: RankSnapshot, **engine_fields: object) -> None:
        """Publish a snapshot under the file's exclusive lock; waits for other ranks' writers.

        Args:
            snapshot: The load. What SGLang doesn't publish is left out.
            engine_fields: Further fields by SGLang's name, such as `decode_moments`; they replace those of the snapshot.

        Raises:
            ValueError: The snapshot is another rank's, or too long for a slot.
            OSError: The file can't be written; the slot then stays marked as half written.
        """
        if snapshot.dp_rank != self._dp_rank:
            raise ValueError(f"the snapshot is rank {snapshot.dp_rank}'s, this writer publishes rank {self._dp_rank}")
        payload = self._payload(to_sglang_fields(snapshot) | engine_fields)
        if len(payload) > SLOT_SIZE - SLOT_LENGTH.size:
            raise ValueError(f"the fields take {len(payload)} bytes, a slot has {SLOT_SIZE - SLOT_LENGTH.size}")
        with self._locked():
            self._write_slot(payload)

    def _payload(self, fields: Mapping[str, object]) -> bytes:
        published = {key: value for key, value in fields.items() if value not in (None, 0)}
        parts = [part for item in published.items() for part in item]
        # The engine's encoder uses this header for every map, because it learns only later how many fields are left out.
        return _MAP_16.pack(0xDE, len(published)) + b"".join(map(self._encode, parts))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _write_slot(self, payload: bytes) -> None:
        offset = self._header.slot_offset(self._dp_rank)
        self._put(SLOT_LENGTH.pack(0), offset)
        self._put(payload.ljust(SLOT_SIZE - SLOT_LENGTH.size, b"\0"), offset + SLOT_LENGTH.size)
        self._put(SLOT_LENGTH.pack(len(payload)), offset)

    def _put(self, data: bytes, offset: int) -> None:
        if (written := os.pwrite(self._fd, data, offset)) != len(data):
            raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes could be written at offset {offset}")

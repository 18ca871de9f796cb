"""Finding the file of the running engine among those that earlier ones left behind.

SGLang makes a file per engine start and never removes one. A running engine publishes continuously, also when idle, so
its newest timestamp tells it from the leftovers; modification times don't, because writes through a mapping needn't show
in them.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.sources._msgpack import msgpack_function
from loadmonitor_worker.sources._sglang_fields import snapshot_unix_ms, with_defaults
from loadmonitor_worker.sources._shm_layout import ShmHeader, ShmReason, SlotFault
from loadmonitor_worker.sources._shm_reader import ShmFile

SGLANG_DIRECTORY: Final = Path("/dev", "shm")
"""Where SGLang makes its files."""
FILE_PATTERN: Final = "sglang_loads_*.shm"
LIVE_WITHIN_MS: Final = 10_000
"""An engine whose newest timestamp is within this of now is running."""

_RETRIES: Final = 2
_MOST_LISTED: Final = 8


class ShmVerdict(StrEnum):
    """What a file in the directory is."""

    LIVE = "live"
    """Its engine publishes."""
    SILENT = "silent"
    """No rank has published a timestamp yet: the engine is starting, or died while it did."""
    FROZEN = "frozen"
    """Its newest timestamp is too far from now: the engine is dead or hangs."""
    UNUSABLE = "unusable"
    """It can't be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShmCandidate:
    """One file that SGLang may have published its load in.

    Attributes:
        path: The file.
        verdict: What it is.
        dp_size: Number of ranks by its header; None when that can't be read.
        version: Layout version by its header; None when that can't be read.
        age_ms: Now minus its newest timestamp, in milliseconds; None when no rank has one.
        reason: Why it is unusable, one of the words of ShmReason; None when it is usable.
        detail: The verdict as a sentence for people.
        last_sign_unix_ms: Its newest timestamp, or else when it was modified; 0 when neither is known.
    """

    path: Path
    verdict: ShmVerdict
    dp_size: int | None
    version: int | None
    age_ms: int | None
    reason: str | None
    detail: str
    last_sign_unix_ms: int


def inspect_candidates(
    directory: str | os.PathLike[str], now_unix_ms: int, *, dp_size: int | None = None
) -> tuple[ShmCandidate, ...]:
    """Look at every load snapshot file of a directory; takes no lock.

    Args:
        directory: Where SGLang makes its files; /dev/shm unless the engine runs elsewhere.
        now_unix_ms: The time that ages are told against.
        dp_size: Number of ranks that a usable file has, or None for any.

    Returns:
        The files in the order of their names.

    Raises:
        SourceUnavailableError: The directory can't be listed.
        MissingExtraError: msgspec isn't installed.
    """
    decode = msgpack_function("decode", "reading SGLang's load snapshots")
    try:
        paths = sorted(path for path in Path(directory).iterdir() if fnmatchcase(path.name, FILE_PATTERN))
    except PermissionError:
        raise SourceUnavailableError(
            ShmReason.PERMISSION, f"{directory} may not be listed by uid {os.geteuid()}, which this process runs as"
        ) from None
    except OSError as error:
        raise SourceUnavailableError(
            ShmReason.NO_FILE, f"{directory} can't be listed ({error.strerror}): mount the engine's /dev/shm there"
        ) from error
    return tuple(_inspect(path, now_unix_ms, dp_size, decode) for path in paths)


def choose_candidate(candidates: Sequence[ShmCandidate], directory: str | os.PathLike[str]) -> ShmCandidate:
    """Choose the file to read: the only live one, or else the one with the latest sign of life.

    The latest counts even when it can't be read: why a new engine's file is unreadable is worth more than an old one's load.

    Args:
        candidates: What inspect_candidates found.
        directory: Where it looked, for messages.

    Raises:
        SourceUnavailableError: There is none, several are live, or none is live and the latest can't be read.
    """
    live = [candidate for candidate in candidates if candidate.verdict is ShmVerdict.LIVE]
    if len(live) > 1:
        listed = ", ".join(str(candidate.path) for candidate in live[:_MOST_LISTED])
        raise SourceUnavailableError(
            ShmReason.SEVERAL_LIVE,
            f"{len(live)} engines publish in {directory}: {listed}: name the file to read, or give each engine its own "
            f"directory; if all but one have just stopped, this clears within {LIVE_WITHIN_MS // 1_000} s",
        )
    if live:
        return live[0]
    if not candidates:
        raise SourceUnavailableError(
            ShmReason.NO_FILE,
            f"there is no {FILE_PATTERN} in {directory}: start SGLang, and share its /dev/shm with this process",
        )
    latest = max(candidates, key=lambda candidate: candidate.last_sign_unix_ms)
    if latest.reason is not None:
        others = f" (latest of {len(candidates)} files there, none of a live engine)" if len(candidates) > 1 else ""
        raise SourceUnavailableError(latest.reason, latest.detail + others)
    return latest


def _inspect(path: Path, now_unix_ms: int, dp_size: int | None, decode: Callable[[bytes], object]) -> ShmCandidate:
    header: ShmHeader | None = None
    newest_ms: int | None = None
    age_ms: int | None = None
    reason: str | None = None
    try:
        with ShmFile(path, decode) as file:
            header = file.header
            file.check(dp_size)
            newest_ms = _newest_unix_ms(file)
    except SourceUnavailableError as error:
        verdict, reason, detail = ShmVerdict.UNUSABLE, error.reason, str(error)
    else:
        if newest_ms is None:
            verdict, detail = ShmVerdict.SILENT, f"{path}: no rank has published yet"
        else:
            age_ms = now_unix_ms - newest_ms
            verdict = ShmVerdict.LIVE if abs(age_ms) <= LIVE_WITHIN_MS else ShmVerdict.FROZEN
            detail = f"{path}: newest timestamp is {age_ms} ms old"
    return ShmCandidate(
        path=path,
        verdict=verdict,
        dp_size=header.dp_size if header else None,
        version=header.version if header else None,
        age_ms=age_ms,
        reason=reason,
        detail=detail,
        last_sign_unix_ms=_modified_unix_ms(path) if newest_ms is None else newest_ms,
    )


def _modified_unix_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _newest_unix_ms(file: ShmFile) -> int | None:
    slots = file.read_slots(range(file.header.dp_size))
    for _ in range(_RETRIES):
        slots |= file.read_slots([rank for rank, slot in slots.items() if isinstance(slot, SlotFault)])
    times = [_unix_ms(slot) for slot in slots.values() if not isinstance(slot, SlotFault)]
    return max((time_ms for time_ms in times if time_ms is not None), default=None)


def _unix_ms(fields: Mapping[object, object]) -> int | None:
    try:
        return snapshot_unix_ms(with_defaults(fields))
    except InvalidSnapshotError:
        return None

"""The digest of a pair of target and source, which all policies but `random` build on."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import starmap
from struct import pack, unpack
from typing import Final, Literal

from p2p_selection._hashes import Hashes, Sources
from p2p_selection.candidates import Candidate, Target
from p2p_selection.errors import SettingError

KeyVersion = Literal[1, 2]
"""The form of the key that is hashed: 1 is that of modelexpress 0.7.0, 2 has no collisions."""
_Source = tuple[str, str, int]
_EncodeTarget = Callable[[str, str, int], bytes]
_EncodeSources = Callable[[Iterable[_Source]], Iterable[bytes]]

_DIGEST_BYTES: Final = 8
DEFAULT_CACHE_SIZE: Final = 131_072


def rendezvous_digest(candidate: Candidate, target: Target, *, key_version: KeyVersion = 1) -> int:
    """Return how much `target` prefers `candidate`: 0 to 2**64 - 1, the higher the better.

    The digest is blake2b with 8 bytes, read big endian. Version 1 of the key is that of modelexpress 0.7.0, the UTF-8 text
    `model_name|target worker_id|target worker_rank|mx_source_id|source worker_id|source worker_rank`; ids that hold a `|` can
    share a key there: ("a|b", "c") and ("a", "b|c") do. Version 2 is each of these six as 4 bytes of length, big endian, and its
    UTF-8 text, so no two pairs share a key. The load is in neither.

    Raises:
        UnicodeEncodeError: A name or id holds a lone surrogate, which no protobuf string can.
    """
    return DigestCache(key_version=key_version, size=0).digests([candidate], target)[0]


def _bars_after(name: str, worker_id: str, rank: int) -> bytes:
    return f"{name}|{worker_id}|{rank}|".encode()


def _bars_between(sources: Iterable[_Source]) -> Iterable[bytes]:
    return (f"{source_id}|{worker_id}|{rank}".encode() for source_id, worker_id, rank in sources)


def _lengths_of_all(sources: Iterable[_Source]) -> Iterable[bytes]:
    return starmap(_lengths, sources)


def _lengths(*parts: str | int) -> bytes:
    texts = [str(part).encode() for part in parts]
    return b"".join(pack(">I", len(text)) + text for text in texts)


class DigestCache:
    """Computes digests, and keeps those of targets that asked before: a target ranks the same sources again with new loads.

    May be shared by threads.

    Args:
        key_version: The form of the key.
        size: Most digests kept; those of the target that asked longest ago go first. Each takes some 250 bytes. 0 keeps none.

    Raises:
        SettingError: An argument is out of range.
    """

    def __init__(self, *, key_version: KeyVersion = 1, size: int = DEFAULT_CACHE_SIZE) -> None:
        if key_version not in (1, 2):
            raise SettingError("key_version", key_version, "1 or 2")
        if size < 0:
            raise SettingError("size", size, "0, to keep nothing, or more")
        self.key_version: KeyVersion = key_version
        self._size = size
        self._prefix: _EncodeTarget = _bars_after if key_version == 1 else _lengths
        self._suffixes: _EncodeSources = _bars_between if key_version == 1 else _lengths_of_all
        self._kept: OrderedDict[bytes, Hashes] = OrderedDict()
        self._total = 0
        self._lock = threading.Lock()

    def digests(self, candidates: Sequence[Candidate], target: Target) -> list[int]:
        """Return the digest of each candidate for `target`, in the order of `candidates`, in a new list.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        return list(self.hashes(candidates, target).digests)

    def hashes(self, candidates: Sequence[Candidate], target: Target) -> Hashes:
        """Return the digests with what follows from them; they may be shared with later callers.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        prefix = self._prefix(target.model_name, target.worker_id, target.worker_rank)
        # Columns, because a tuple for each of 100,000 sources would take as long as all else.
        sources: Sources = (
            [candidate.mx_source_id for candidate in candidates],
            [candidate.worker_id for candidate in candidates],
            [candidate.worker_rank for candidate in candidates],
        )
        kept = self._kept.get(prefix)
        if kept is not None and kept.sources == sources:
            kept.reused = True
            fresh = kept
        else:
            fresh = Hashes(sources, self._compute(prefix, sources, kept))
        self._keep(prefix, fresh)
        return fresh

    def _compute(self, prefix: bytes, sources: Sources, kept: Hashes | None) -> list[int]:
        listed: Iterable[_Source] = zip(*sources, strict=True)
        if kept is None:
            return self._hash(prefix, listed)
        known: dict[_Source, int] = dict(zip(zip(*kept.sources, strict=True), kept.digests, strict=True))
        keys = list(listed)
        new = [source for source in keys if source not in known]
        known.update(zip(new, self._hash(prefix, new), strict=True))
        return list(map(known.__getitem__, keys))

    def _hash(self, prefix: bytes, sources: Iterable[_Source]) -> list[int]:
        # The target's part is hashed once and copied, and all digests become numbers in one step.
        start = blake2b(prefix, digest_size=_DIGEST_BYTES)
        digests = bytearray()
        for key in self._suffixes(sources):
            hashed = start.copy()
            hashed.update(key)
            digests += hashed.digest()
        return list(unpack(f">{len(digests) // _DIGEST_BYTES}Q", digests))

    def _keep(self, prefix: bytes, hashes: Hashes) -> None:
        """Keep the last list of this target only, so that what left the fleet is forgotten."""
        if not self._size:
            return
        with self._lock:
            replaced = self._kept.pop(prefix, None)
            self._kept[prefix] = hashes
            self._total += len(hashes.digests) - (0 if replaced is None else len(replaced.digests))
            while self._total > self._size:
                self._total -= len(self._kept.popitem(last=False)[1].digests)

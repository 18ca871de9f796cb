"""The digest of a pair of target and source, which all policies but `random` build on."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import starmap
from math import nextafter
from operator import attrgetter
from struct import pack, unpack
from typing import Final, Literal

from p2p_selection.candidates import Candidate, Target
from p2p_selection.errors import SettingError

KeyVersion = Literal[1, 2]
_source = attrgetter("mx_source_id", "worker_id", "worker_rank")
_Source = tuple[str, str, int]
_Encode = Callable[[str, str, int], bytes]

_DIGEST_BYTES: Final = 8
_TWO_64: Final = 1 << 64
_BELOW_ONE: Final = nextafter(1.0, 0.0)
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


def _bars_between(source_id: str, worker_id: str, rank: int) -> bytes:
    return f"{source_id}|{worker_id}|{rank}".encode()


def _lengths(*parts: str | int) -> bytes:
    texts = [str(part).encode() for part in parts]
    return b"".join(pack(">I", len(text)) + text for text in texts)


def unit_hashes(digests: Sequence[int]) -> list[float]:
    """Return each digest as a number of [0, 1): `digest / 2**64`, kept below 1 where rounding would reach it."""
    units = [digest / _TWO_64 for digest in digests]
    return units if max(units, default=0.0) < 1.0 else [min(unit, _BELOW_ONE) for unit in units]


class DigestCache:
    """Computes digests, and keeps those of targets that asked before: a target ranks the same sources again with new loads.

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
        self._prefix: _Encode = _bars_after if key_version == 1 else _lengths
        self._suffix: _Encode = _bars_between if key_version == 1 else _lengths
        self._kept: OrderedDict[bytes, dict[_Source, int]] = OrderedDict()

    def digests(self, candidates: Sequence[Candidate], target: Target) -> list[int]:
        """Return the digest of each candidate for `target`, in the order of `candidates`.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        prefix = self._prefix(target.model_name, target.worker_id, target.worker_rank)
        known = self._kept.get(prefix)
        if known is not None:
            self._kept.move_to_end(prefix)
            # Most often, all are known; their ids are then looked up without being held.
            with suppress(KeyError):
                return list(map(known.__getitem__, map(_source, candidates)))
        return self._add(prefix, list(map(_source, candidates)), known or {})

    def _add(self, prefix: bytes, sources: Sequence[_Source], known: dict[_Source, int]) -> list[int]:
        fresh = [source for source in sources if source not in known] if known else sources
        digests = self._compute(prefix, fresh)
        if known:
            known = known | dict(zip(fresh, digests, strict=True))
            digests = list(map(known.__getitem__, sources))
        if self._size:
            # Only those listed now: what left the fleet is forgotten.
            self._keep(prefix, dict(zip(sources, digests, strict=True)))
        return digests

    def _keep(self, prefix: bytes, digests: dict[_Source, int]) -> None:
        self._kept[prefix] = digests
        total = sum(map(len, self._kept.values()))
        while total > self._size:
            total -= len(self._kept.popitem(last=False)[1])

    def _compute(self, prefix: bytes, sources: Sequence[_Source]) -> list[int]:
        # The target's part is hashed once and copied, and all digests become numbers in one step.
        start = blake2b(prefix, digest_size=_DIGEST_BYTES)
        digests = []
        for key in starmap(self._suffix, sources):
            hashed = start.copy()
            hashed.update(key)
            digests.append(hashed.digest())
        return list(unpack(f">{len(digests)}Q", b"".join(digests)))

"""Rendezvous hashing (highest random weight): each target has its own order of the sources, and needs nobody to agree on it.

Each pair of target and source has a digest; a target prefers the source with the highest. A pair's digest knows of no other
source, so one that comes or goes changes nothing between the rest, and different targets prefer different sources. Key and
digest are those of modelexpress 0.7.0, whose pullers rank the same sources the same way.

Thaler and Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1), 1998.
"""

from collections.abc import Iterable
from hashlib import blake2b

from p2p_selection.candidates import Candidate, Target


def rendezvous_digest(candidate: Candidate, target: Target) -> int:
    """Return how much `target` prefers `candidate`: 0 to 2**64 - 1, the higher the better.

    The digest is blake2b with 8 bytes, read big endian, of the UTF-8 text
    `model_name|target worker_id|target worker_rank|mx_source_id|source worker_id|source worker_rank`. The load isn't in it.
    Ids that hold a `|` can share a key: ("a|b", "c") and ("a", "b|c") do.

    Raises:
        UnicodeEncodeError: A name or id holds a lone surrogate, which no protobuf string can.
    """
    key = (
        f"{target.model_name}|{target.worker_id}|{target.worker_rank}"
        f"|{candidate.mx_source_id}|{candidate.worker_id}|{candidate.worker_rank}"
    )
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


class RendezvousHash:
    """Ranks by `rendezvous_digest` alone: even over many targets, steady for each of them, blind to load.

    Attributes:
        name: The policy's name in configuration, `rendezvous_hash`.
    """

    name: str = "rendezvous_hash"

    def order(self, candidates: Iterable[Candidate], target: Target) -> list[Candidate]:
        """Return the same candidates in a new list, best first; an empty list for none.

        Equal digests are decided by `mx_source_id`, `worker_id` and `worker_rank`, ascending, so everyone who is given the
        same sources ranks them identically, in whatever order they were listed. Entries with all three ids equal are one
        source listed twice; they stay as they came.

        Args:
            candidates: The sources to rank; read once and left as they are.
            target: The process that is going to pull.

        Raises:
            UnicodeEncodeError: A name or id holds a lone surrogate.
        """
        return sorted(
            candidates,
            key=lambda c: (-rendezvous_digest(c, target), c.mx_source_id, c.worker_id, c.worker_rank),
        )

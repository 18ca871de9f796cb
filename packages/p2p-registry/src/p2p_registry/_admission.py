"""Which calls are refused before they are answered: for their token, or because there are too many."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import grpc

from p2p_registry._files import TokenFile

MOST_ADDRESSES: Final = 4_096
"""Addresses whose calls are counted before those at rest are forgotten."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call isn't answered, as its client is told."""

    code: grpc.StatusCode
    why: str


class RateLimit:
    """Lets each address send so many requests a second as a mean, and a second's worth of them at once."""

    def __init__(self, per_second: int) -> None:
        self.per_second = per_second
        self._free_at: dict[str, float] = {}

    def admits(self, address: str, now_seconds: float) -> bool:
        """Count a request, and return whether it is within the limit; one that isn't costs its sender nothing.

        Args:
            address: Who sent it.
            now_seconds: The time, on a clock that never goes back.
        """
        pause_seconds = 1 / self.per_second
        free_at = max(self._free_at.get(address, now_seconds), now_seconds) + pause_seconds
        if free_at > now_seconds + 1 + pause_seconds / 2:  # half a pause, for what floats round off
            return False
        if len(self._free_at) >= MOST_ADDRESSES and address not in self._free_at:
            self._free_at = {known: at for known, at in self._free_at.items() if at > now_seconds}
        self._free_at[address] = free_at
        return True


class Admission:
    """Refuses calls without one of the tokens, and those above the limit; both are optional."""

    def __init__(
        self,
        tokens: TokenFile | None,
        limit: RateLimit | None,
        *,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tokens = tokens
        self._limit = limit
        self._now_seconds = now_seconds

    def refusal(self, peer: str, metadata: Iterable[tuple[str, str | bytes]]) -> Refusal | None:
        """Return why a call is refused, or None.

        The limit comes first, so that guessing tokens is held back, too.

        Args:
            peer: Who calls, in gRPC's words, such as `ipv4:10.0.0.1:50000`.
            metadata: What came with the call.
        """
        if self._limit is not None and not self._limit.admits(peer.rpartition(":")[0], self._now_seconds()):
            why = f"more than {self._limit.per_second} requests a second came from this address: send fewer"
            return Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, why)
        if self._tokens is not None:
            why_not = self._tokens.refusal([value for key, value in metadata if key == "authorization"])
            if why_not is not None:
                return Refusal(grpc.StatusCode.UNAUTHENTICATED, why_not)
        return None

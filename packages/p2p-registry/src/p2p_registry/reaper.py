"""Marks workers STALE that fell silent, and removes those that stayed so."""

from dataclasses import dataclass

from p2p_registry.interfaces import Backend
from p2p_registry.listing import HEARTBEAT_TIMEOUT_MS

REMOVAL_TIMEOUT_MS = 3_600_000
"""Time after its last update at which a worker is removed, whatever its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """What one pass changed.

    Attributes:
        marked_stale: Workers that this pass marked STALE.
        removed: Workers that this pass removed.
    """

    marked_stale: int
    removed: int


async def reap(backend: Backend, now_ms: int) -> Reaped:
    """Go through the store once.

    Any number of replicas may do so at the same time: the store itself decides whether a worker is still silent, so a heartbeat
    that arrives meanwhile saves it, and no worker is counted twice.

    Args:
        backend: The store.
        now_ms: The time on the service's clock, in milliseconds since the Unix epoch.

    Raises:
        BackendError: The store failed; what was changed until then stays changed.
    """
    stale_before_ms = now_ms - HEARTBEAT_TIMEOUT_MS
    gone_before_ms = now_ms - REMOVAL_TIMEOUT_MS
    marked = removed = 0
    for summary in await backend.summaries(None):
        key, updated_at_ms = summary.key, summary.state.updated_at_ms
        if updated_at_ms < gone_before_ms and await backend.remove(key.source_id, key.worker_id, gone_before_ms - 1):
            removed += 1
        elif updated_at_ms < stale_before_ms:
            marked += await backend.mark_stale(key.source_id, key.worker_id, stale_before_ms - 1)
    return Reaped(marked_stale=marked, removed=removed)

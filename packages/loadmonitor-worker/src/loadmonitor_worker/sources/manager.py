"""The load of the SGLang engine in whose process this runs."""

from collections.abc import Sequence

from loadmonitor_worker.interfaces import SglangManager
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._sglang_fields import KNOWN_KEYS, to_rank_snapshot


class ManagerSource:
    """Reads SGLang's TokenizerManager, or anything of its shape.

    The rank set follows the manager's `elastic_worker_count`. A rank that has not published yet has no snapshot time; a
    manager that doesn't count prefill work leaves those totals unknown.

    Args:
        manager: The engine's manager. It is asked for the section "core" only.
    """

    def __init__(self, manager: SglangManager) -> None:
        self._manager = manager

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return what the manager says of its ranks.

        Raises:
            InvalidSnapshotError: A value is missing or has the wrong type.
        """
        loads = await self._manager.get_loads(include=["core"])
        return [
            to_rank_snapshot({key: getattr(load, key) for key in KNOWN_KEYS if hasattr(load, key)}) for load in loads
        ]

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return ranks 0 to `elastic_worker_count` - 1."""
        return frozenset(range(self._manager.elastic_worker_count))

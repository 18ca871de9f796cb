"""The embedded store keeps the rules that every store keeps, and forgets everything with its process."""

import pytest
from backend_conformance import BackendConformance

from p2p_registry import Backend, MemoryBackend


class TestMemoryBackend(BackendConformance):
    """Two replicas in one process share one object."""

    outlives_its_process = False

    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self._backend = MemoryBackend()

    async def open(self) -> Backend:
        return self._backend

    async def reopen(self) -> Backend:
        return MemoryBackend()

    async def lose(self) -> Backend:
        return MemoryBackend()

from collections.abc import Callable as Callable
from p2p_registry.errors import InvalidBackendUrlError as InvalidBackendUrlError, MissingExtraError as MissingExtraError
from p2p_registry.interfaces import Backend as Backend
from p2p_registry.memory import MemoryBackend as MemoryBackend
from p2p_registry.snapshot_backend import SnapshotBackend as SnapshotBackend

async def open_backend(url: str) -> Backend: ...
def is_namespace(name: str) -> bool: ...

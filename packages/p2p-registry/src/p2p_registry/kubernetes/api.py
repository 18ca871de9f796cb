"""What the backend needs of an API server."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from p2p_registry.kubernetes.objects import Object


class EventType(Enum):
    """What happened to a worker's object; BOOKMARK says that nothing else did up to a version."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    """One event of a watch.

    Attributes:
        kind: What happened.
        object: The object as it is now, or was last; of a bookmark only its resource version.
    """

    kind: EventType
    object: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectList:
    """All workers' objects.

    Attributes:
        version: The resource version of the list.
        objects: The objects.
    """

    version: int
    objects: Sequence[Mapping[str, Any]]


class ObjectApi(Protocol):
    """The objects of one namespace: workers' custom resources and the ConfigMaps with their tensors.

    Every method raises `BackendError` when the API server can't be reached or refuses, but for the refusals named here. Patches
    are JSON merge patches; one with a `metadata.resourceVersion` is refused once its object has another.
    """

    async def ping(self) -> None:
        """Return when the API server lets workers be listed."""

    async def list(self) -> ObjectList:
        """Return all workers' objects as they are now."""

    def watch(self, version: int) -> AsyncGenerator[WatchEvent]:
        """Yield what happens to workers' objects after a version, until that fails or the version is too old."""

    async def get(self, name: str) -> Object | None:
        """Return a worker's object as it is now, or None where there is none."""

    async def create(self, new: Object) -> Object | None:
        """Make a worker's object and return it, or None where there is one of its name."""

    async def patch(self, name: str, patch: Object) -> Object | None:
        """Patch a worker's object, its status excepted, and return it, or None where there is none."""

    async def patch_status(self, name: str, patch: Object) -> Object | None:
        """Patch the status of a worker's object and return it, or None where it has changed or is gone."""

    async def delete(self, name: str, uid: str, version: int) -> bool:
        """Delete the very object with this uid at this version, and later what it owns; False where it has changed or is gone."""

    async def config_map(self, name: str) -> Mapping[str, str] | None:
        """Return the content of a ConfigMap, or None where there is none."""

    async def write_config_map(self, config_map: Object) -> None:
        """Make or patch a ConfigMap."""

    async def aclose(self) -> None:
        """Let go of the connections; a second call does nothing."""

"""The Protocols of discovery: what finds Workers, and what the Kubernetes one consumes."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

from loadmonitor_router.discovery.slices import EndpointSlice
from loadmonitor_router.snapshot import WorkerTarget


class Discovery(Protocol):
    """Finds Workers: an asynchronous iterator over complete sets.

    The first set comes as soon as one is known, later ones only when something has changed; each replaces the one before.
    A look that fails raises nothing: the last good set stands, `last_error` says why, and the next look comes by itself. An
    empty set means that there are no Workers, never that they couldn't be looked up. The iteration ends only by `aclose`.

        async with aclosing(discovery):
            async for workers in discovery:
                ...

    One task iterates. A cancelled wait loses nothing: the next one goes on.
    """

    @property
    def last_error(self) -> str | None:
        """Why the last look failed, for people; None when it didn't."""

    def __aiter__(self) -> Self:
        """Return itself."""

    async def __anext__(self) -> tuple[WorkerTarget, ...]:
        """Wait for a set that differs from the one before."""

    async def aclose(self) -> None:
        """End the iteration, also one that is waiting, and let go of connections."""


class SliceEventType(StrEnum):
    """What a watch of the Kubernetes API says of an object; the values are the API's."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing happened; the connection lives."""


@dataclass(frozen=True, slots=True)
class SliceEvent:
    """One event of a watch.

    Attributes:
        type: What happened.
        slice: To whom; of a bookmark nothing but the type counts.
    """

    type: SliceEventType
    slice: EndpointSlice


class EndpointSliceApi(Protocol):
    """The part of the Kubernetes API that tells where the pods of a Service listen; one namespace, one selector."""

    async def list(self) -> tuple[str, tuple[EndpointSlice, ...]]:
        """Return the resource version of the list, and all slices.

        Raises:
            DiscoveryError: They can't be listed.
        """

    def watch(self, resource_version: str) -> AsyncGenerator[SliceEvent]:
        """Yield what happens after a resource version, through any number of connections, until closed.

        Raises:
            WatchExpiredError: The version is too old.
            DiscoveryError: The watch failed otherwise.
        """

    async def aclose(self) -> None:
        """Let go of the connections."""

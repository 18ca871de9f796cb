"""The Protocols that router_lifecycle.publication consumes."""

from collections.abc import Set as AbstractSet
from typing import Protocol

from router_lifecycle.publication.generations import EngineGeneration, WeightSnapshot
from router_lifecycle.spec import WorkerSpec


class EngineLauncher(Protocol):
    """Starts and stops the processes of one engine, on all its nodes: Ray actors, a Kubernetes pod set, subprocesses.

    It never talks to the router. Each call names the generation, so that a launcher in a new driver finds what another one started.
    """

    async def start(self, generation: EngineGeneration, *, avoid_urls: AbstractSet[str]) -> WorkerSpec:
        """Start all nodes and return when the engine serves; what a failed start leaves behind is stopped by the caller.

        Args:
            generation: Of the new processes; give it to them as a name or a label.
            avoid_urls: URLs that the router may still route for an earlier engine: take another port or host.

        Returns:
            What to tell the router; the URL is that of the node with rank 0.
        """

    async def stop(self, generation: EngineGeneration, *, force: bool) -> None:
        """Stop all nodes of a generation, whatever state they are in; stopping what is stopped does nothing.

        Args:
            generation: Whose processes.
            force: Whether to kill rather than ask; it is called so when asking hung, raised or wasn't enough.
        """

    async def is_alive(self, generation: EngineGeneration) -> bool:
        """Return whether any process of a generation still runs."""


class RunningRequests(Protocol):
    """Tells how busy an engine is, for draining it."""

    async def __call__(self, url: str) -> int | None:
        """Return how many requests the engine at a URL works on or holds in its queue, or None when that isn't known."""


class WeightTransfer(Protocol):
    """Brings weights to engines, as the trainer does it."""

    async def __call__(self, snapshot: WeightSnapshot) -> None:
        """Transfer to the engines of a snapshot and to no others, and raise when it isn't certain that all have them."""


class PublishedVersions(Protocol):
    """Which version of each model's weights was published last; only the trainer writes it."""

    def publish(self, model: str, version: int) -> None:
        """Note that a transfer of a version succeeded.

        Args:
            model: Whose weights.
            version: 0 or above, and not below the last one.

        Raises:
            ValueError: The version is negative or below the last one.
        """

    def current(self, model: str) -> int | None:
        """Return the version that was published last, or None before the first."""

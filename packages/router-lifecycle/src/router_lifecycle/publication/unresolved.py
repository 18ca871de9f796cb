"""The URLs that a router may still route for an engine that is gone."""

from pydantic import BaseModel

from router_lifecycle.client import RouterLifecycleClient
from router_lifecycle.errors import OperationError
from router_lifecycle.handle import RegistrationHandle


class UnresolvedRemovals(BaseModel):
    """Registrations whose removal has begun and isn't confirmed; shared by the engines of a fleet, and serialisable.

    A row that stays behind would send requests to whichever engine has the URL next, before that one has its weights.

    Attributes:
        handles: The registrations, by URL.
    """

    handles: dict[str, RegistrationHandle] = {}

    @property
    def urls(self) -> frozenset[str]:
        """The URLs not to give to another engine."""
        return frozenset(self.handles)

    def add(self, handle: RegistrationHandle) -> None:
        """Note that the removal of a registration begins."""
        self.handles[handle.url] = handle

    def clear(self, url: str) -> None:
        """Forget a URL, since its removal is confirmed."""
        self.handles.pop(url, None)

    async def resolve(
        self, client: RouterLifecycleClient, *, timeout_seconds: float | None = None
    ) -> list[OperationError]:
        """Watch each URL until nothing can bring its worker back, one after the other, and forget it then.

        Args:
            client: Of the router.
            timeout_seconds: Bound for each, or None for as long as the router may still activate it.

        Returns:
            Why the others couldn't be resolved.
        """
        errors: list[OperationError] = []
        for url, handle in list(self.handles.items()):
            try:
                await client.watch_for_ghost(handle, timeout=timeout_seconds)
            except OperationError as error:
                errors.append(error)
            else:
                self.clear(url)
        return errors

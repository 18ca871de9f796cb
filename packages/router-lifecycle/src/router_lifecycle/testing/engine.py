"""An inference engine as a router sees it: whether its probes are answered, and what it says of itself."""

from bisect import bisect_right
from enum import StrEnum


class Health(StrEnum):
    """How an engine answers the router's probes."""

    HEALTHY = "healthy"
    """200."""
    LOADING = "loading"
    """503 on `/health`; what it says of itself can be read already."""
    DOWN = "down"
    """The connection is refused."""
    HANGING = "hanging"
    """The connection is accepted and nothing follows."""


class FakeEngine:
    """An engine at an address, and how its health changes over time.

    A router that was told any spelling of the address (`http://h:1`, `http://h:1/`, `h:1`) finds this engine. Host names aren't
    resolved: `localhost` and `127.0.0.1` are two.
    """

    def __init__(
        self,
        url: str,
        *,
        health: Health = Health.HEALTHY,
        dp_size: int = 1,
        model_path: str = "/models/Qwen3-0.6B",
        served_model_name: str = "qwen3-0.6b",
        api_key: str | None = None,
        tells_server_info: bool = True,
    ) -> None:
        """Describe an engine.

        Args:
            url: Its address, `http://host:port`.
            health: Its health until the first change.
            dp_size: Its data-parallel ranks, 1 or more.
            model_path: Where its model is.
            served_model_name: What it calls its model.
            api_key: The key that it asks for, or None. `/health` never asks for it.
            tells_server_info: Whether `/server_info` exists; without, a dp-aware router can't learn the ranks.

        Raises:
            ValueError: `dp_size` is below 1.
        """
        if dp_size < 1:
            raise ValueError(f"dp_size={dp_size} is not allowed: an engine has at least 1 data-parallel rank")
        self.url = url
        self.dp_size = dp_size
        self.model_path = model_path
        self.served_model_name = served_model_name
        self.api_key = api_key
        self.tells_server_info = tells_server_info
        self._since = [float("-inf")]
        self._healths = [health]

    def becomes(self, health: Health, at_seconds: float) -> None:
        """Change the health from a time of the router's clock on; `at_seconds=clock()` is now.

        Args:
            health: The health from then on.
            at_seconds: Not before the last change.

        Raises:
            ValueError: A later change is known already.
        """
        if at_seconds < self._since[-1]:
            raise ValueError(
                f"{self.url} changes at {self._since[-1]} s already: {at_seconds} s is before that, tell changes in order"
            )
        self._since.append(at_seconds)
        self._healths.append(health)

    def health_at(self, at_seconds: float) -> Health:
        """Return the health at a time of the router's clock."""
        return self._healths[bisect_right(self._since, at_seconds) - 1]

    def accepts(self, api_key: str | None) -> bool:
        """Return whether the engine answers more than `/health` to the holder of a key."""
        return self.api_key is None or self.api_key == api_key


def engine_address(url: str) -> str | None:
    """Return `host:port` of a URL in whatever spelling, or None where no router would reach an engine.

    A path other than `/` is one of those: the probe of `/health` below it is answered with 404.
    """
    rest = url.partition("://")[2] if "://" in url else url
    authority, _, path = rest.partition("/")
    host_and_port = authority.rpartition("@")[2]
    if path or not host_and_port or not host_and_port.isprintable() or " " in url or "?" in host_and_port:
        return None
    return host_and_port.lower()

"""A rank set as an engine gives it."""

from collections.abc import Collection

from loadmonitor_worker.errors import ConfigError


def checked_ranks(dp_ranks: Collection[int]) -> frozenset[int]:
    """Return the ranks as a set.

    Raises:
        ConfigError: No ranks, or one that isn't an integer of at least 0.
    """
    ranks = frozenset(dp_ranks)
    if not ranks or not all(type(rank) is int and rank >= 0 for rank in ranks):
        raise ConfigError(f"dp_ranks={dp_ranks!r} is not allowed: at least one rank, integers of at least 0, is")
    return ranks

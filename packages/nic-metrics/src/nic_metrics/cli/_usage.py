"""What several commands make of their flags."""

from collections.abc import Mapping

from nic_metrics.errors import NicMetricsError


class UsageError(NicMetricsError):
    """The flags don't say what is to be done."""


def selected(engine: int | None, dp_rank: int | None) -> Mapping[str, str]:
    """Return the labels of the series that count."""
    return {name: str(rank) for name, rank in (("engine", engine), ("dp_rank", dp_rank)) if rank is not None}

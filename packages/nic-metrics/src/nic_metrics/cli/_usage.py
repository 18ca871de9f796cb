"""What several commands make of their flags."""

import math
from collections.abc import Mapping

from nic_metrics.errors import NicMetricsError


class UsageError(NicMetricsError):
    """The flags don't say what is to be done."""


def check_timeout(seconds: float) -> None:
    """Refuse a timeout at which nothing can be got.

    Raises:
        UsageError: It isn't a finite number above 0.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"--timeout {seconds:g} is not a finite number above 0")


def selected(engine: int | None, dp_rank: int | None) -> Mapping[str, str]:
    """Return the labels of the series that count."""
    return {name: str(rank) for name, rank in (("engine", engine), ("dp_rank", dp_rank)) if rank is not None}

"""When an engine that routers were told to leave alone has nothing to do any more. Time and readings are arguments."""

from loadmonitor_worker._verdict import FUTURE_TOLERANCE_MS, Attempt

QUIET_NS = 1_000_000_000
"""How long an engine must be seen idle: a request may have been on its way while its router was told."""


class IdleWatch:
    """Follows the reads of an engine until it has been idle for a while, in numbers that are newer than the routers' knowledge.

    What can't be read, or isn't dated, isn't idle: it isn't known.

    Attributes:
        reason: What is in the way, as far as the last look showed.
    """

    def __init__(self) -> None:
        self.reason = "the engine's load hasn't been read yet"
        self._told_unix_ms: int | None = None
        self._quiet_since_ns: int | None = None

    def observe(self, attempt: Attempt, untold: list[str], *, now_ns: int, now_unix_ms: int) -> bool:
        """Take in one read; return whether the engine has been idle long enough.

        Args:
            attempt: The read. Its status doesn't matter: an engine that publishes no capacity can be seen idle as well.
            untold: Routers that may not know the engine's state yet.
            now_ns: Monotonic time.
            now_unix_ms: Wall clock, on which the engine's numbers are dated.
        """
        problem = self._problem(attempt, untold, now_unix_ms)
        if problem is not None:
            self.reason = problem
            self._quiet_since_ns = None
            return False
        if self._quiet_since_ns is None:
            self._quiet_since_ns = now_ns
            self.reason = "idle, but not for long enough"
        return now_ns - self._quiet_since_ns >= QUIET_NS

    def _problem(self, attempt: Attempt, untold: list[str], now_unix_ms: int) -> str | None:
        if untold:
            self._told_unix_ms = None
            others = f" and {len(untold) - 1} more" if len(untold) > 1 else ""
            return f"router {untold[0]!r}{others} may not know the state yet"
        if self._told_unix_ms is None:
            self._told_unix_ms = now_unix_ms
        if attempt.error is not None:
            return f"the engine's load isn't known: {attempt.error}"
        running = sum(rank.num_running_reqs for rank in attempt.ranks)
        waiting = sum(rank.num_waiting_reqs for rank in attempt.ranks)
        if running or waiting:
            return f"{running} running, {waiting} waiting"
        stamps = [rank.snapshot_time_unix_ms or 0 for rank in attempt.ranks]
        if min(stamps) == 0 or max(stamps) > now_unix_ms + FUTURE_TOLERANCE_MS:
            return "the engine's load isn't known: its numbers have no usable timestamp"
        if min(stamps) < self._told_unix_ms:
            return "idle when last seen, which was before the routers were told"
        return None

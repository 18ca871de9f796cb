"""How long to wait before a Worker is dialled again."""

from collections.abc import Callable

from loadmonitor_proto import StreamErrorCode

FIRST_MS = 200
LONGEST_MS = 5_000
RIVAL_FIRST_MS = 1_000
RIVAL_LONGEST_MS = 300_000


class Backoff:
    """The delays of one client, doubling from loss to loss.

    - After an ordinary loss 0.2 s, doubled up to 5 s; back to 0.2 s once a registration has held for 5 s.
    - A peer that has no load reporter is asked every 5 s: it may be restarted with one.
    - After `SESSION_REPLACED` another router uses the same id. Each replaces the other by dialling, so the delay grows
      from 1 s to 5 minutes and doesn't shrink when a registration succeeds, only once one has held for twice the longest
      delay: then the rival is gone.

    Every delay is shortened at random by up to half, so that routers that lost a Worker together don't return together.
    """

    def __init__(self, jitter: Callable[[], float]) -> None:
        """Start at the shortest delays.

        Args:
            jitter: Returns a number from 0 up to 1 each time.
        """
        self._jitter = jitter
        self._ordinary_ms = FIRST_MS
        self._rival_ms = RIVAL_FIRST_MS

    def delay_ms(self, *, held_ms: float, code: str | None, no_service: bool) -> float:
        """Return the milliseconds to wait now.

        Args:
            held_ms: How long the lost registration had held; 0 when there was none.
            code: The Worker's code from its error frame, or None.
            no_service: The peer answered that it has no load reporter.
        """
        if held_ms >= LONGEST_MS:
            self._ordinary_ms = FIRST_MS
        if held_ms >= 2 * RIVAL_LONGEST_MS:
            self._rival_ms = RIVAL_FIRST_MS
        if code == StreamErrorCode.SESSION_REPLACED:
            base, self._rival_ms = self._rival_ms, min(2 * self._rival_ms, RIVAL_LONGEST_MS)
        else:
            base = LONGEST_MS if no_service else self._ordinary_ms
            self._ordinary_ms = min(2 * base, LONGEST_MS)
        return base * (1 - self._jitter() / 2)

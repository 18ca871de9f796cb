"""Some signs only count when they stay: a record is overwritten by another job, a list is read between two writes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How long a sign must stay before it counts.

    Attributes:
        looks: In how many looks in a row, the first included.
        seconds: Over how long a time, from the first of them to the last.
    """

    looks: int
    seconds: float


AT_ONCE = Steadiness(looks=1, seconds=0.0)
# Records of overlapping jobs were seen to change for 1.5 s.
CONFIRMED = Steadiness(looks=2, seconds=2.0)
# Absence is the weakest sign: it has many meanings, and is taken for one of them only after a longer look.
SETTLED = Steadiness(looks=3, seconds=5.0)
# What a router has accepted it will do, unless it lost it: its queue was seen to take 55 s, and another job may wipe the record.
PATIENT = Steadiness(looks=3, seconds=10.0)


@dataclass(slots=True)
class Stillness:
    """Counts for how long the looks have pointed the same way."""

    _target: object = None
    _since_seconds: float = 0.0
    _looks: int = field(default=0)

    def holds(self, target: object, needed: Steadiness, now_seconds: float) -> bool:
        """Count one more look that points to `target`, and return whether that is steady enough."""
        if target != self._target:
            self._target, self._since_seconds, self._looks = target, now_seconds, 0
        self._looks += 1
        return self._looks >= needed.looks and now_seconds - self._since_seconds >= needed.seconds

    def reset(self) -> None:
        """Forget what was counted."""
        self._target, self._looks = None, 0

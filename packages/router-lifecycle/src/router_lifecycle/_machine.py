"""A state machine whose transitions are data: signs lead from state to state, some only when they stay."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from router_lifecycle._steadiness import AT_ONCE, Steadiness, Stillness

State = TypeVar("State", bound=StrEnum)
Sign = TypeVar("Sign", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Step(Generic[State]):
    """Where a sign leads, and how steady it must be.

    Attributes:
        to: The next state.
        after: How steady the sign must be.
    """

    to: State
    after: Steadiness = AT_ONCE


class Machine(Generic[State, Sign]):
    """Follows one operation through a table.

    Attributes:
        state: Where it stands.
        sign: What the last look showed, or None before the first.
    """

    def __init__(self, table: Mapping[tuple[State, Sign], Step[State]], state: State, *, blind: Sign) -> None:
        """Start in a state.

        Args:
            table: Where each sign leads from each state; what isn't in it leads nowhere.
            state: Where to begin.
            blind: The sign of a look that saw nothing: it neither leads anywhere nor unsettles what the others showed.
        """
        self.state: State = state
        self.sign: Sign | None = None
        self._table = table
        self._blind = blind
        self._still = Stillness()

    def see(self, sign: Sign, now_seconds: float) -> State:
        """Take one more sign and return where the operation now stands.

        Args:
            sign: What the look showed.
            now_seconds: When, on a clock that never steps.
        """
        self.sign = sign
        if sign == self._blind:
            return self.state
        step = self._table.get((self.state, sign))
        if step is None:
            self._still.reset()
        elif self._still.holds(step.to, step.after, now_seconds):
            self.put(step.to)
        return self.state

    def put(self, state: State) -> None:
        """Go to a state for a reason that no look shows; looks begin to count anew."""
        self.state = state
        self._still.reset()

"""What became of a registry's list: the sources to try, and the fate of every entry."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from p2p_selection.candidates import Candidate
from p2p_selection.filtering import DropReason


class Fate(StrEnum):
    """What became of an entry of the list."""

    CHOSEN = "chosen"
    """It is among those to try."""
    CANDIDATE = "candidate"
    """It could be tried, and ranks below the limit."""
    COOLING = "cooling"
    """It failed a moment ago and ranks behind the others."""
    DROPPED = "dropped"
    """The target can't use it; the reason is a `DropReason`."""


class Stage(StrEnum):
    """How far an entry came; each stage holds all of the next."""

    LISTED = "listed"
    """It was listed."""
    RANK_MATCHED = "rank_matched"
    """It can be read and has the target's rank."""
    ACCELERATOR_MATCHED = "accelerator_matched"
    """It meets every condition, the accelerator's last, and was ranked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one entry of the list, and why.

    Attributes:
        entry: The entry as it was listed.
        candidate: What was read from it; None where it is malformed.
        fate: CHOSEN for those to try, CANDIDATE for those after the cap, COOLING for those put last because a pull from them
            failed lately (the first of which may still be tried), DROPPED for those that can't be used.
        reason: Why it was dropped or put last, in words; "" otherwise.
        drop_reason: Why it was dropped; None for the others.
    """

    entry: object
    candidate: Candidate | None
    fate: Fate
    reason: str = ""
    drop_reason: DropReason | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The sources to try, best first, and the fate of every entry: those to try, the other candidates, the dropped.

    Attributes:
        policy: Name of the policy that ordered them.
        sources: At most as many as the cap.
        verdicts: One for each entry of the list.
    """

    policy: str
    sources: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def dropped(self) -> Counter[DropReason]:
        """How many entries were dropped for each reason."""
        return Counter(verdict.drop_reason for verdict in self.verdicts if verdict.drop_reason is not None)

    @property
    def funnel(self) -> dict[Stage, int]:
        """How many entries came as far as each stage."""
        dropped = self.dropped
        listed = len(self.verdicts)
        return {
            Stage.LISTED: listed,
            Stage.RANK_MATCHED: listed - dropped[DropReason.MALFORMED] - dropped[DropReason.RANK],
            Stage.ACCELERATOR_MATCHED: listed - dropped.total(),
        }

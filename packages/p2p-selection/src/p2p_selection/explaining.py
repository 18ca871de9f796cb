"""Why each entry of a list is where it is: what `p2p-selection explain` prints."""

from collections.abc import Sequence
from dataclasses import dataclass

from p2p_selection.candidates import Candidate, known_load
from p2p_selection.filtering import DropReason
from p2p_selection.interfaces import Account
from p2p_selection.selection import Fate, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One entry of a list, and why it is where it is. None where something isn't known or wasn't computed.

    Attributes:
        place: 1 for the first to try; None for an entry that was dropped.
        candidate: What was read from the entry; None where it is malformed.
        fate: What became of it.
        drop_reason: Why it was dropped.
        load: What the source says of its load, 0 to 1.
        account: How it came by its score, where the policy tells.
        why: What decided, in words; "" where nothing but the score did.
    """

    place: int | None = None
    candidate: Candidate | None = None
    fate: Fate
    drop_reason: DropReason | None = None
    load: float | None = None
    account: Account | None = None
    why: str = ""


def explain_verdicts(verdicts: Sequence[Verdict], accounts: Sequence[Account]) -> tuple[Explanation, ...]:
    """Return an explanation of each entry, those that can be tried first, best first.

    Args:
        verdicts: What became of the entries, as a `Selection` has them.
        accounts: How those that weren't dropped came by their score, in their order; none from a policy that doesn't tell.
    """
    ranked = [verdict for verdict in verdicts if verdict.fate is not Fate.DROPPED]
    told: Sequence[Account | None] = accounts or [None] * len(ranked)
    explained = [
        _explain(place, verdict, account) for place, (verdict, account) in enumerate(zip(ranked, told, strict=True), 1)
    ]
    dropped = [
        Explanation(
            candidate=verdict.candidate,
            fate=verdict.fate,
            drop_reason=verdict.drop_reason,
            load=None if verdict.candidate is None else known_load(verdict.candidate.source_load),
            why=verdict.reason,
        )
        for verdict in verdicts
        if verdict.fate is Fate.DROPPED
    ]
    return (*explained, *dropped)


def _explain(place: int, verdict: Verdict, account: Account | None) -> Explanation:
    candidate = verdict.candidate
    assert candidate is not None  # only malformed entries have none, and those are dropped
    load = known_load(candidate.source_load)
    reasons = [verdict.reason, "" if account is None else account.why, _counted(load, account)]
    return Explanation(
        place=place,
        candidate=candidate,
        fate=verdict.fate,
        load=load,
        account=account,
        why="; ".join(filter(None, reasons)),
    )


def _counted(load: float | None, account: Account | None) -> str:
    """Say what the load counts as where that isn't what the source says."""
    if account is None or account.counted_load is None or account.counted_load == load:
        return ""
    return f"load {'unknown' if load is None else 'adjusted'}: counts as {account.counted_load:.2f}"

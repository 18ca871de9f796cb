"""What the kit says about a clause, and how a check says so."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadmonitor_router.conformance.trial import Trial


class Outcome(StrEnum):
    """What came of a clause."""

    PASSED = "passed"
    """The Worker did what the clause asks, as far as it was asked."""
    FAILED = "failed"
    """The Worker did something else."""
    NOT_OFFERED = "not offered"
    """The clause is about an extension, or a limit, that this Worker doesn't have."""
    NOT_TESTABLE = "not testable from here"
    """The clause needs a hand on the Worker's process or engine, or is about Routers."""


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """The verdict on one clause.

    Attributes:
        clause: Its id in the contract.
        outcome: What came of it.
        expected: What a Worker that keeps the clause does.
        received: What this one did, or why it couldn't be asked.
    """

    clause: str
    outcome: Outcome
    expected: str
    received: str


class Verdict(Exception):  # noqa: N818 - not every verdict is an error
    """Ends a check before its end; the message is what was received, or why nothing could be."""

    outcome: Outcome


class Deviation(Verdict):
    """The Worker didn't do what the clause asks."""

    outcome = Outcome.FAILED


class NotOffered(Verdict):
    """The Worker doesn't have what the clause is about."""

    outcome = Outcome.NOT_OFFERED


class NotTestable(Verdict):
    """Nothing that a Router sees can tell."""

    outcome = Outcome.NOT_TESTABLE


@dataclass(frozen=True, slots=True)
class Check:
    """How one clause is tested.

    Attributes:
        clause: The id of the clause.
        expects: What a Worker that keeps the clause does.
        how: What the check does, for people.
        run: Does it, and returns what was received; a Verdict ends it early.
        is_extension: Whether a Worker of the contract's first version is free of the clause.
        needs_registration: Whether the check is pointless where a plain `register` fails.
    """

    clause: str
    expects: str
    how: str
    run: "Callable[[Trial], Awaitable[str]]"
    is_extension: bool
    needs_registration: bool


def check(
    clause: str, *, expects: str, is_extension: bool = False, needs_registration: bool = True
) -> "Callable[[Callable[[Trial], Awaitable[str]]], Check]":
    """Make a function the check of a clause; its docstring says how it tests."""

    def make(run: "Callable[[Trial], Awaitable[str]]") -> Check:
        how = " ".join((getdoc(run) or "").split())
        return Check(clause, expects, how, run, is_extension, needs_registration)

    return make

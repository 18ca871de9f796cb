"""The errors of p2p_selection.

SelectionError
├── SettingError             a setting is out of range; nothing was made
├── MalformedCandidateError  an entry of a list can't be a candidate; the others are ranked without it
├── MetadataMissError        raised by a caller's pull: the source has no metadata, so nothing was tried with it
│   └── MetadataLookupError  the same, because looking the metadata up failed
└── NoSourceLeftError        every source that could be tried failed, or there was none
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p2p_selection.candidates import Candidate


class SelectionError(Exception):
    """Base of every error that p2p_selection raises.

    What to do: read the message, which names what was received and what is allowed.
    """


class SettingError(SelectionError, ValueError):
    """A setting is out of range; the message names it, the value received and what is allowed."""

    def __init__(self, setting: str, value: object, allowed: str) -> None:
        """Name the setting, what it was given, and what it may be."""
        super().__init__(f"{setting}={value!r} is not allowed: {allowed} is")
        self.setting: str = setting


class MalformedCandidateError(SelectionError, ValueError):
    """An entry of a list can't be a candidate; the message says which field is wrong and how."""


class MetadataMissError(SelectionError):
    """For a `pull` to raise when the source's metadata isn't there: the next source is tried, and no attempt is used up.

    What to do: raise it in a `pull`; `attempt` goes on with the next source.
    """


class MetadataLookupError(MetadataMissError):
    """For a `pull` to raise when the registry couldn't be asked for the source's metadata; counted apart from a missing one."""


class NoSourceLeftError(SelectionError):
    """No source gave the weights.

    What to do: load the weights from storage; `failures` says what each source did.

    Attributes:
        failures: Each source that was tried and the exception it ended with, in the order tried.
    """

    def __init__(self, message: str, failures: "Sequence[tuple[Candidate, Exception]]") -> None:
        """Give the sentence and what was tried."""
        super().__init__(message)
        self.failures: tuple[tuple[Candidate, Exception], ...] = tuple(failures)

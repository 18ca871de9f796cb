"""The words a Worker may put in `StreamError.code`, and what a Router does about each."""

from enum import StrEnum


class StreamErrorCode(StrEnum):
    """Why a Worker ended a stream; the stream always closes after the error, with gRPC status OK.

    A Worker may be newer than this enum: compare `StreamError.code` as text, and treat an unknown word as retryable.
    """

    INVALID_FIRST_FRAME = "INVALID_FIRST_FRAME"
    """The first frame was not `register`."""
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    """A blank id, a zero or negative interval or lease, or another value that can't be served."""
    SESSION_REPLACED = "SESSION_REPLACED"
    """Another stream registered the same router_id."""
    LEASE_EXPIRED = "LEASE_EXPIRED"
    """No frame arrived within the granted lease."""
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    """The Worker serves as many Routers, or reads as many frames, as it allows itself."""
    PERMISSION_DENIED = "PERMISSION_DENIED"
    """The peer may not register this router_id."""
    SHUTTING_DOWN = "SHUTTING_DOWN"
    """The Worker is going away."""


_TERMINAL = frozenset(
    {
        StreamErrorCode.INVALID_FIRST_FRAME,
        StreamErrorCode.INVALID_ARGUMENT,
        StreamErrorCode.PERMISSION_DENIED,
    }
)


def is_terminal(code: str) -> bool:
    """Tell whether dialling again with the same request is pointless.

    Args:
        code: `StreamError.code` as received; a word this version doesn't know is retryable.
    """
    return code in _TERMINAL

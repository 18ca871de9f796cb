"""Refusing to wait for gRPC in a process where it never answers."""

from loadmonitor_proto.forking import cut_off_reason
from loadmonitor_router.errors import ForkedProcessError


def check_not_forked(what: str) -> None:
    """Do nothing in a process where gRPC works.

    Args:
        what: What can't work otherwise, for the message.

    Raises:
        ForkedProcessError: This process was forked while gRPC was in use.
    """
    reason = cut_off_reason()
    if reason is not None:
        raise ForkedProcessError(f"{what} can't work: {reason}")

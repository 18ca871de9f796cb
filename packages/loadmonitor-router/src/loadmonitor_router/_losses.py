"""What a client draws from the loss of a stream: a line in the log, and rarer pings for a peer that asks for them."""

from loadmonitor_proto import StreamErrorCode
from loadmonitor_router._stream import StreamLostError

_TOO_MANY_PINGS = "too many pings"  # how gRPC words that the peer wants fewer pings
_SPARSEST_PINGS_MS = 320_000  # a gRPC server that says nothing about pings accepts one every 300 s


def describe_loss(loss: StreamLostError, *, address: str, router_id: str, delay_ms: float) -> str:
    """Return the line of the log."""
    seconds = delay_ms / 1_000
    if loss.code == StreamErrorCode.SESSION_REPLACED:
        return (
            f"{address}: another router registers as {router_id} too; dialling again in {seconds:.1f} s, and later each time: "
            "give each router an id of its own"
        )
    return f"{address} lost: {loss}; dialling again in {seconds:.1f} s"


def pings_after(loss: StreamLostError, every_ms: int) -> int:
    """Return the time between two pings from now on, in milliseconds."""
    if _TOO_MANY_PINGS not in str(loss).lower():
        return every_ms
    return min(2 * every_ms, max(every_ms, _SPARSEST_PINGS_MS))

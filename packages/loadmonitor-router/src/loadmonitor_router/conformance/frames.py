"""The frames that the checks send, and words for those that they receive."""

from loadmonitor_proto import KeepAlive, RegisterRequest, RouterFrame, StopRequest, UpdateConfigRequest, WorkerFrame

DAY_MS = 86_400_000
"""An interval after which no check waits: what arrives after the first report arrives for another reason."""
LONG_LEASE_MS = 60_000


def register(
    router_id: str, *, interval_ms: int = DAY_MS, lease_ms: int = LONG_LEASE_MS, window: int | None = None
) -> RouterFrame:
    """Return a `register`."""
    request = RegisterRequest(
        router_id=router_id, report_interval_ms=interval_ms, lease_ttl_ms=lease_ms, max_unacked_reports=window
    )
    return RouterFrame(register=request)


def update(*, interval_ms: int | None = None, lease_ms: int | None = None) -> RouterFrame:
    """Return an `update_config`."""
    return RouterFrame(update_config=UpdateConfigRequest(report_interval_ms=interval_ms, lease_ttl_ms=lease_ms))


def keep_alive(acked: int | None = None) -> RouterFrame:
    """Return a `keep_alive`."""
    return RouterFrame(keep_alive=KeepAlive(acked_sequence_id=acked))


def stop() -> RouterFrame:
    """Return a `stop`."""
    return RouterFrame(stop=StopRequest())


def describe(frame: WorkerFrame) -> str:
    """Say in a few words what a Worker sent."""
    match frame.WhichOneof("payload"):
        case "report":
            return f"report {frame.report.sequence_id}"
        case "error":
            said = f" ({frame.error.message})" if frame.error.message else ""
            return f"the error {frame.error.code or 'without a code'}{said}"
        case "registered":
            return "registered"
        case _:
            return "a frame without payload"

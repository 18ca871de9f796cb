from router_lifecycle import Worker as Worker, WorkerRow as WorkerRow
from router_lifecycle.cli._session import RouterFlags as RouterFlags, SCHEMA as SCHEMA, Session as Session, run_session as run_session

def list_workers(*, router_flags: RouterFlags) -> int: ...

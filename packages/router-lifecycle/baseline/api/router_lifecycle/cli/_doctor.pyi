from pathlib import Path
from router_lifecycle import RemovalHandle as RemovalHandle, normalize_worker_url as normalize_worker_url
from router_lifecycle.cli._handles import read_handle as read_handle
from router_lifecycle.cli._session import Handle as Handle, RouterFlags as RouterFlags, SCHEMA as SCHEMA, Session as Session, UsageError as UsageError, run_session as run_session
from router_lifecycle.diagnosis import Finding as Finding, diagnose as diagnose
from router_lifecycle.dialects import Dialect as Dialect

def doctor(*urls: str, router_flags: RouterFlags, handle: tuple[Path, ...] = ()) -> int: ...
def offers(dialect: Dialect) -> list[str]: ...

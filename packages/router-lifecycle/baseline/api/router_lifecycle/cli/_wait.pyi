from cyclopts import Parameter as Parameter
from pathlib import Path
from router_lifecycle import Phase as Phase, RemovalHandle as RemovalHandle, ReplacementHandle as ReplacementHandle, RouterLifecycleClient as RouterLifecycleClient
from router_lifecycle.cli._handles import read_any_handle as read_any_handle, with_key as with_key
from router_lifecycle.cli._session import Handle as Handle, RouterFlags as RouterFlags, Session as Session, UsageError as UsageError, run_session as run_session
from typing import Annotated

REGISTER_SECONDS: float
REMOVE_SECONDS: float
REPLACE_SECONDS: float

def wait(*, handle: Path, worker_key_file: Path | None = None, api_key_file: Path | None = None, timeout: float | None = None, json_lines: Annotated[bool, None] = False) -> int: ...
async def finish(client: RouterLifecycleClient, session: Session, held: ReplacementHandle) -> None: ...

from dataclasses import dataclass
from router_lifecycle.testing._state import Entry as Entry, PostedWorker as PostedWorker, Process as Process, RouterState as RouterState
from router_lifecycle.testing.engine import FakeEngine as FakeEngine, Health as Health
from router_lifecycle.testing.profiles import IdKind as IdKind

@dataclass(frozen=True, slots=True)
class _Failure:
    message: str

def add_worker(state: RouterState, posted: PostedWorker) -> Process: ...
def remove_worker(state: RouterState, url: str) -> Process: ...
def update_worker(state: RouterState, entry: Entry, posted: PostedWorker) -> Process: ...

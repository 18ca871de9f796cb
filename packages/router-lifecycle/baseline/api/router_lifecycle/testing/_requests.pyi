from _typeshed import Incomplete
from collections.abc import Mapping
from router_lifecycle.errors import RouterLifecycleError as RouterLifecycleError
from router_lifecycle.testing._answers import Answer as Answer, error_answer as error_answer, text_answer as text_answer
from router_lifecycle.testing._state import PostedWorker as PostedWorker, RouterState as RouterState
from typing import Any

class RefusedRequestError(RouterLifecycleError):
    answer: Incomplete
    def __init__(self, answer: Answer) -> None: ...

def read_body(state: RouterState, content_type: str, body: bytes, *, needs_url: bool) -> dict[str, Any]: ...
def posted_worker(state: RouterState, fields: Mapping[str, Any]) -> PostedWorker: ...
def changed_worker(posted: PostedWorker, fields: Mapping[str, Any]) -> PostedWorker: ...

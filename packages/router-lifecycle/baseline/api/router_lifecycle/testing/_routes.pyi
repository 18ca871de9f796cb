from collections.abc import Mapping
from dataclasses import dataclass, field
from router_lifecycle.testing._answers import Answer as Answer, json_answer as json_answer, listing as listing, text_answer as text_answer
from router_lifecycle.testing._requests import RefusedRequestError as RefusedRequestError, read_body as read_body
from router_lifecycle.testing.model import RouterModel as RouterModel
from router_lifecycle.testing.profiles import IdKind as IdKind

@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str = ...
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = ...

def answer_to(model: RouterModel, request: Request) -> Answer | None: ...

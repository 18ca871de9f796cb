from collections.abc import Mapping
from router_lifecycle.publication.guard import WeightVersionGuard as WeightVersionGuard
from typing import Any

Json = Mapping[str, Any]

def check_response(guard: WeightVersionGuard, body: Json, *, model: object, source: str | None = None) -> None: ...
def check_session_record(guard: WeightVersionGuard, record: Json, *, source: str | None = None) -> None: ...

from _typeshed import Incomplete
from router_lifecycle.errors import RouterLifecycleError as RouterLifecycleError
from typing import Any

class PublicationError(RouterLifecycleError): ...
class GateError(PublicationError, ValueError): ...
class EngineStateError(PublicationError): ...

class URLUnresolvedError(PublicationError):
    engine_id: Incomplete
    url: Incomplete
    def __init__(self, engine_id: str, url: str) -> None: ...

class EngineStopError(PublicationError):
    engine_id: Incomplete
    def __init__(self, engine_id: str) -> None: ...

class StaleWeightError(PublicationError):
    model: Incomplete
    reason: Incomplete
    rule: Incomplete
    versions: Incomplete
    published: Incomplete
    minimum: Incomplete
    source: Incomplete
    def __init__(self, *, model: str, reason: str, rule: str, versions: tuple[str | None, ...], published: str | None, minimum: int | None, source: str | None) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

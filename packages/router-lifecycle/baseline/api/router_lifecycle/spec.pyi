from collections.abc import Mapping
from pydantic import AfterValidator as AfterValidator, BaseModel, SecretStr as SecretStr
from router_lifecycle._keys import check_key as check_key
from router_lifecycle.urls import normalize_worker_url as normalize_worker_url
from typing import Annotated, TypeAlias

WorkerType: TypeAlias

class WorkerSpec(BaseModel, frozen=True, strict=True, extra='forbid', hide_input_in_errors=True):
    url: Annotated[str, None]
    worker_type: WorkerType
    bootstrap_port: int | None
    model_id: str | None
    api_key: Annotated[SecretStr | None, None]
    labels: Mapping[str, str]
    priority: int | None
    cost: float | None
    def __hash__(self) -> int: ...
    def request_body(self) -> dict[str, object]: ...

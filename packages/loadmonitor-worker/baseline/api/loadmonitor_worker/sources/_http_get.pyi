from _typeshed import Incomplete
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from loadmonitor_worker._redaction import without_password as without_password
from loadmonitor_worker.errors import ConfigError as ConfigError, MissingExtraError as MissingExtraError, SourceUnavailableError as SourceUnavailableError
from loadmonitor_worker.sources._http_answer import HttpReason as HttpReason
from types import ModuleType
from typing import Any

@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]
    body: bytes

def httpx_module(feature: str, extra: str) -> ModuleType: ...
def checked_url(url: str, module: ModuleType) -> str: ...
def authorization(api_key: str | None) -> dict[str, str]: ...

class HttpGet:
    url: Incomplete
    def __init__(self, url: str, headers: Mapping[str, str], module: ModuleType, *, timeout_ms: int, max_body_bytes: int) -> None: ...
    async def get(self) -> HttpAnswer: ...
    async def aclose(self) -> None: ...

class _Handshake(AsyncExitStack):
    async def trace(self, event: str, info: Mapping[str, Any]) -> None: ...

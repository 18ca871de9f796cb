from _typeshed import Incomplete
from enum import StrEnum

class Health(StrEnum):
    HEALTHY = 'healthy'
    LOADING = 'loading'
    DOWN = 'down'
    HANGING = 'hanging'

class FakeEngine:
    url: Incomplete
    dp_size: Incomplete
    model_path: Incomplete
    served_model_name: Incomplete
    api_key: Incomplete
    tells_server_info: Incomplete
    def __init__(self, url: str, *, health: Health = ..., dp_size: int = 1, model_path: str = '/models/Qwen3-0.6B', served_model_name: str = 'qwen3-0.6b', api_key: str | None = None, tells_server_info: bool = True) -> None: ...
    def becomes(self, health: Health, at_seconds: float) -> None: ...
    def health_at(self, at_seconds: float) -> Health: ...
    def accepts(self, api_key: str | None) -> bool: ...

def engine_address(url: str) -> str | None: ...

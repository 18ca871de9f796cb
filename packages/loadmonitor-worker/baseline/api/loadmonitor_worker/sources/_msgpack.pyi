from collections.abc import Callable as Callable
from loadmonitor_worker.errors import MissingExtraError as MissingExtraError
from typing import Any

def msgpack_function(name: str, feature: str) -> Callable[[Any], Any]: ...

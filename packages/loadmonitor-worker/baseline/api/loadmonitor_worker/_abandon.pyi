import types
from collections.abc import Callable as Callable, Coroutine, Generator
from typing import Any

@types.coroutine
def abandonable(coroutine: Coroutine[Any, Any, _T], given_up: Callable[[], bool]) -> Generator[Any, None, _T]: ...

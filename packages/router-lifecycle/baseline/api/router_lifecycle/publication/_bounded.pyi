from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar('T')
Sleep = Callable[[float], Awaitable[None]]

async def within(seconds: float, work: Coroutine[Any, Any, T], sleep: Sleep) -> T: ...

"""Awaiting code that may ignore cancellation without waiting for it for ever."""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

_T = TypeVar("_T")


@types.coroutine
def abandonable(coroutine: Coroutine[Any, Any, _T], given_up: Callable[[], bool]) -> Generator[Any, None, _T]:
    """Await `coroutine`; a cancellation that comes when it is given up ends the wait and leaves the coroutine where it is.

    A task that survives every cancellation is one that `asyncio.run` waits for without end.
    """
    resume: Callable[[], Any] = partial(coroutine.send, None)
    while True:
        try:
            waits_for = resume()
        except StopIteration as stop:
            result: _T = stop.value
            return result
        try:
            yield waits_for
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and given_up():
                raise
            resume = partial(coroutine.throw, error)
        else:
            resume = partial(coroutine.send, None)

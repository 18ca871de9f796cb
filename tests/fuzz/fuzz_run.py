"""One run of hypothesis over one side: started once, played example after example, closed, and then nothing may be left."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Protocol, TypeVar

from fuzz_noise import Noise, eventually, tasks
from hypothesis import given, settings
from hypothesis import strategies as st

_Example_contra = TypeVar("_Example_contra", contravariant=True)


class Bench(Protocol[_Example_contra]):
    """What plays the examples."""

    async def play(self, example: _Example_contra, /) -> None:
        """Play one, and raise when something is wrong or left."""


def fuzz(
    start: Callable[[AsyncExitStack], Awaitable[Bench[_Example_contra]]],
    examples_of: st.SearchStrategy[_Example_contra],
    executed: Callable[[], int],
    *,
    examples: int,
    least: int = 0,
    expected: Callable[[logging.LogRecord], bool] = lambda _: False,
) -> None:
    """Play examples.

    Args:
        start: Starts what plays them; what it enters on the stack is left at the end.
        examples_of: Draws them.
        executed: How many frames were executed so far.
        examples: How many to play at once.
        least: Go on with other examples until so many frames were executed; 0 plays the same ones in every run.
        expected: Tells which records may be logged.
    """

    async def open_all(stack: AsyncExitStack) -> Bench[_Example_contra]:
        return await start(stack)

    async def close_all(stack: AsyncExitStack) -> None:
        await stack.aclose()
        await eventually(lambda: not tasks(), tasks)

    before = executed()
    stack = AsyncExitStack()
    with asyncio.Runner() as runner, Noise(runner.get_loop(), expected=expected) as noise:
        try:
            bench = runner.run(open_all(stack))

            @settings(max_examples=examples, derandomize=not least)
            @given(examples_of)
            def play(example: _Example_contra) -> None:
                runner.run(bench.play(example))
                assert not noise.heard

            play()
            while executed() - before < least:
                play()
        finally:
            runner.run(close_all(stack))
    assert not noise.heard

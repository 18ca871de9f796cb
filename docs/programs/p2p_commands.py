"""Commands as JSON objects, a line each, on stdin, and their answers on stdout: how the simulated sources and pullers are told what to do."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

MODEL = "m"
"""The model that everybody serves or wants."""


async def answer_commands(do: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]) -> None:
    """Carry out one command after the other until stdin ends, as it does when whoever gave them is gone."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        tell(await do(json.loads(line)))


def tell(answer: Mapping[str, Any]) -> None:
    """Write an answer."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

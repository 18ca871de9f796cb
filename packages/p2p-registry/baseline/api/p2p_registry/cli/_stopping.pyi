import asyncio
from _typeshed import Incomplete
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

EXIT_CODES: Final[Incomplete]

@asynccontextmanager
async def stop_signals() -> AsyncIterator['asyncio.Queue[int]']: ...

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from router_lifecycle.testing.router import FakeRouter as FakeRouter

@asynccontextmanager
async def serve(router: FakeRouter) -> AsyncIterator[str]: ...

"""A small engine on a real port: it answers what a router asks of an SGLang server, as a `FakeEngine` describes it."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator

from router_lifecycle.testing import FakeEngine, Health

_LOOK_SECONDS = 0.05


class EngineServer:
    """Answers for one engine. Its time is `time.monotonic`."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.ready = asyncio.Event()
        """Set once it listens, or refuses as it should."""

    @property
    def health(self) -> Health:
        """How it is now."""
        return self._engine.health_at(time.monotonic())

    async def serve(self, reserved: socket.socket) -> None:
        """Refuse connections on a port that is ours until the engine is up; then answer until cancelled."""
        async for health in self._healths():
            if health is not Health.DOWN:
                break
            self.ready.set()
        async with await asyncio.start_server(self._talk, sock=reserved) as server:
            self.ready.set()
            await server.serve_forever()

    async def _healths(self) -> AsyncIterator[Health]:
        while True:
            yield self.health
            await asyncio.sleep(_LOOK_SECONDS)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Routers ask in gRPC's HTTP/2 too what speaks here: its first line is no request of HTTP/1. And a connection that is open at
        # the end is cancelled with the loop, which asyncio would report as an error.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split(" ", 2)
                lines = (line.partition(":") for line in head.splitlines()[1:])
                headers = {name.lower(): value.strip() for name, _, value in lines}
                await reader.readexactly(int(headers.get("content-length", "0")))
                status, body = self._answer(method, target.partition("?")[0], headers.get("authorization", ""))
                text = json.dumps(body).encode()
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n".encode()
                    + text
                )
                await writer.drain()
        writer.close()

    def _answer(self, method: str, path: str, authorization: str) -> tuple[int, object]:
        engine = self._engine
        if path == "/health":
            return (200, {}) if self.health is Health.HEALTHY else (503, {})
        if not engine.accepts(authorization.removeprefix("Bearer ") or None):
            return 401, {"error": "Unauthorized"}
        model: dict[str, object] = {
            "model_path": engine.model_path,
            "tokenizer_path": engine.model_path,
            "served_model_name": engine.served_model_name,
            "is_generation": True,
            "model_type": "qwen3",
            "architectures": ["Qwen3ForCausalLM"],
        }
        server = {
            "dp_size": engine.dp_size,
            "tp_size": 1,
            "version": "0.5.6",
            "disaggregation_mode": "null",
            "load_balance_method": "round_robin",
            "max_running_requests": 256,
            "context_length": 32768,
        }
        told = {
            "/server_info": {**model, **server},
            "/model_info": {**model, "weight_version": "default"},
            "/v1/models": {
                "object": "list",
                "data": [{"id": engine.served_model_name, "owned_by": "sglang", "max_model_len": 32768}],
            },
        }.get(path.replace("/get_", "/"))
        return (200, told) if method == "GET" and told is not None else (404, {"error": "not here"})


@contextlib.asynccontextmanager
async def serving(engine: FakeEngine, reserved: socket.socket) -> AsyncIterator[None]:
    """Serve an engine on the bound socket that its URL names."""
    server = EngineServer(engine)
    task = asyncio.create_task(server.serve(reserved))
    try:
        await server.ready.wait()
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        reserved.close()

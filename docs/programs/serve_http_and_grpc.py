"""An engine that serves HTTP and gRPC from one process and one event loop, with one load reporter for both.

python docs/programs/serve_http_and_grpc.py --port 30000 --grpc-port 30001 --load-reporter-port 50061
"""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import grpc.aio
import uvicorn
from starlette.applications import Starlette

from loadmonitor_worker import ReporterConfig, add_cli_args
from loadmonitor_worker.integrations import SharedReporter
from loadmonitor_worker.sources import SyntheticSource


@asynccontextmanager
async def serving_grpc(reporter: SharedReporter, port: int) -> AsyncIterator[None]:
    """Run the gRPC side; it shares the reporter, whichever side enters it first."""

    async def generate(request: bytes, _: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        return request

    server = grpc.aio.server()
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
        "Generate": grpc.unary_unary_rpc_method_handler(generate)
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("engine.Engine", handlers),))
    print("grpc listens on", server.add_insecure_port(f"127.0.0.1:{port}"), flush=True)
    async with reporter as running:
        print("grpc reports on", running and running.address, flush=True)
        await server.start()
        try:
            yield
        finally:
            await server.stop(1)


def make_app(reporter: SharedReporter, grpc_port: int) -> Starlette:
    """Return the HTTP side, whose lifespan runs the gRPC side too.

    After the lifespan uvicorn hands SIGTERM on, and the process dies of it: nothing can be closed later than there.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with serving_grpc(reporter, grpc_port), reporter as running:
            print("http reports on", running and running.address, flush=True)
            yield

    return Starlette(lifespan=lifespan)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=30_000)
    parser.add_argument("--grpc-port", type=int, default=30_001)
    add_cli_args(parser)
    arguments = parser.parse_args()
    config = ReporterConfig(port=arguments.load_reporter_port, host=arguments.load_reporter_host)
    app = make_app(SharedReporter(config, lambda: SyntheticSource(2)), arguments.grpc_port)
    uvicorn.run(app, host="127.0.0.1", port=arguments.port)

"""An HTTP engine in several worker processes, one of which reports the load of the engine that they all serve.

To run it:

    loadmonitor-worker simulate --shm-path /dev/shm/engine.shm &
    python docs/programs/serve_http_workers.py --workers 4 --port 30000 --load-reporter-port 50061 \
        --shm-path /dev/shm/engine.shm --directory /run/user/1000/engine-30000
"""

import argparse
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from loadmonitor_worker import ReporterConfig, add_cli_args
from loadmonitor_worker.integrations import ElectedReporter
from loadmonitor_worker.sources import SglangShmSource


def make_app() -> Starlette:
    """Return the application of one worker process, which inherits the settings of all in the environment."""
    settings = json.loads(os.environ["ENGINE_SETTINGS"])
    reporter = ElectedReporter(
        ReporterConfig(port=settings["port"], host=settings["host"]),
        lambda: SglangShmSource(settings["shm_path"]),
        settings["directory"],
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with reporter:
            yield

    def told() -> JSONResponse:
        return JSONResponse({"pid": os.getpid(), "owner": reporter.reporter is not None, "grpc": "grpc" in sys.modules})

    async def worker(_: Request) -> JSONResponse:
        return told()

    async def scale(request: Request) -> JSONResponse:
        reporter.update_expected_dp_ranks(range(request.path_params["dp_size"]))
        return told()

    routes = [Route("/worker", worker), Route("/dp_size/{dp_size:int}", scale, methods=["PUT"])]
    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=30_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shm-path", required=True)
    parser.add_argument("--directory", required=True)
    add_cli_args(parser)
    arguments = parser.parse_args()
    os.environ["ENGINE_SETTINGS"] = json.dumps(
        {
            "port": arguments.load_reporter_port,
            "host": arguments.load_reporter_host,
            "shm_path": arguments.shm_path,
            "directory": arguments.directory,
        }
    )
    uvicorn.run(
        f"{Path(__file__).stem}:make_app",
        factory=True,
        app_dir=str(Path(__file__).parent),
        host="127.0.0.1",
        port=arguments.port,
        workers=arguments.workers,
    )

"""An HTTP engine whose lifespan owns the load reporter.

python docs/programs/serve_http.py --port 30000 --load-reporter-port 50061
loadmonitor watch 127.0.0.1:50061
"""

import argparse
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from loadmonitor_worker import RankSnapshot, ReporterConfig, add_cli_args
from loadmonitor_worker.integrations import SharedReporter
from loadmonitor_worker.sources import CallableSource


class Engine:
    """Stands for an engine; inside SGLang the source is `ManagerSource(tokenizer_manager)`."""

    running = 0

    async def load(self) -> list[RankSnapshot]:
        """Tell the load of the only rank."""
        return [
            RankSnapshot(
                dp_rank=0,
                snapshot_time_unix_ms=time.time_ns() // 1_000_000,
                num_running_reqs=self.running,
                num_waiting_reqs=0,
                num_used_tokens=100 * self.running,
                num_total_tokens=100 * self.running,
                max_total_num_tokens=100_000,
                max_running_requests=1_000,
                token_usage=self.running / 1_000,
            )
        ]


def make_app(config: ReporterConfig) -> FastAPI:
    """Return the application; its lifespan runs the engine, and the reporter inside that."""
    engine = Engine()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with SharedReporter(config, lambda: CallableSource(engine.load, [0])) as reporter:
            print("reporting on", reporter and reporter.address, flush=True)
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/requests")
    async def begin_request() -> int:
        engine.running += 1
        return engine.running

    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=30_000)
    add_cli_args(parser)
    arguments = parser.parse_args()
    reporting = ReporterConfig(port=arguments.load_reporter_port, host=arguments.load_reporter_host)
    uvicorn.run(make_app(reporting), host="127.0.0.1", port=arguments.port)

"""`loadmonitor-worker serve`: the Monitor service beside an engine that knows nothing of it."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from loadmonitor_worker.cli._logging import LogFormat, LogLevel, set_up_logging
from loadmonitor_worker.cli._options import (
    NO_METRICS_FLAGS,
    MetricsFlags,
    SourceName,
    closing,
    make_source,
    stop_signals,
)
from loadmonitor_worker.cli._side_port import SidePortConfig, side_port
from loadmonitor_worker.config import ReporterConfig, WorkerType
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.reporter import start_load_reporter


def serve(
    *,
    source: SourceName,
    host: str = "127.0.0.1",
    port: int = 50061,
    shm_path: Path | None = None,
    engine_url: str | None = None,
    api_key_file: Path | None = None,
    dp_size: int | None = None,
    worker_addr: str = "",
    worker_type: WorkerType = WorkerType.REGULAR,
    model: str | None = None,
    stale_after_ms: int = 3_000,
    min_interval_ms: int = 10,
    overshoot: Literal["strict", "clamp"] = "strict",
    metrics: MetricsFlags = NO_METRICS_FLAGS,
    http_port: int | None = None,
    http_host: str = "127.0.0.1",
    remote_drain: Annotated[bool, Parameter(negative="")] = False,
    log_format: LogFormat = "text",
    log_level: LogLevel = "info",
) -> int:
    """Report the load of an engine on this machine until stopped.

    The engine need not run yet: while its load can't be read, routers are told UNREACHABLE and why. SIGTERM tells routers
    SHUTTING_DOWN and exits 0. Exits 1, with one line on stderr, on a setting that can't be served or a taken port.

    Args:
        source: Where the load is read: the shared memory or the HTTP server of an unmodified SGLang, the metrics of vLLM, SGLang
            or an engine that --mapping describes, or made-up numbers.
        host: Address to listen on; 0.0.0.0 for routers on other machines.
        port: Port to listen on; 0 takes any free one, told by the first line of output.
        shm_path: SGLang's snapshot file; by default the live one in /dev/shm is found.
        engine_url: The engine's HTTP address, such as http://127.0.0.1:30000.
        api_key_file: File that holds the engine's API key.
        dp_size: Data-parallel ranks to expect; by default as many as the source says.
        worker_addr: Where requests reach the engine, for people to read in reports.
        worker_type: What the engine serves.
        model: Name of the served model.
        stale_after_ms: Ranks older than this make a report STALE.
        min_interval_ms: Shortest report interval granted to a router.
        overshoot: "clamp" caps a load above its capacity, "strict" reports UNREACHABLE.
        metrics: What the sources that read metrics take besides.
        http_port: Port of a second listener, for HTTP: /metrics, /livez, and /drain, which `loadmonitor-worker drain` uses;
            0 takes any free one, told by the second line of output. By default there is none.
        http_host: Address of the second listener; 0.0.0.0 for scrapers on other machines.
        remote_drain: Let anybody who reaches the second listener drain, by GET too, as a kubelet's preStop httpGet does; by
            default only processes of this machine or pod may, by POST.
        log_format: "json" writes one object a line.
        log_level: What is logged on stderr: changes of state ("info"), or troubles only.
    """
    config = ReporterConfig(
        port=port,
        host=host,
        worker_addr=worker_addr,
        worker_type=worker_type,
        model=model,
        stale_after_ms=stale_after_ms,
        min_report_interval_ms=min_interval_ms,
        overshoot=overshoot,
    )
    set_up_logging(log_format, log_level)
    side = None if http_port is None else SidePortConfig(port=http_port, host=http_host, remote_drain=remote_drain)
    reader = make_source(
        source, shm_path=shm_path, dp_size=dp_size, engine_url=engine_url, api_key_file=api_key_file, metrics=metrics
    )
    return asyncio.run(_serve(config, reader, side))


async def _serve(config: ReporterConfig, source: LoadSnapshotSource, side: SidePortConfig | None) -> int:
    async with stop_signals() as stopped, closing(source):
        reporter = await start_load_reporter(config, source)
        assert reporter is not None
        async with reporter, side_port(reporter, side) as http_address:
            sys.stdout.write(f"listening on {reporter.address}\n")
            if http_address is not None:
                sys.stdout.write(f"metrics at http://{http_address}/metrics\n")
            sys.stdout.flush()
            code = await stopped
            await reporter.close()  # before the side port, so that a drain that waits gets its answer
            return code

"""The settings of the sidecar: what it reports and from where, by flag or environment variable."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from loadmonitor_worker.cli._logging import LogFormat, LogLevel
from loadmonitor_worker.config import ReporterConfig, WorkerType
from loadmonitor_worker.settings import LoadedSettings, load_settings

SourceName = Literal["sglang-shm", "sglang-http", "vllm-metrics", "sglang-metrics", "mapping", "synthetic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarConfig(ReporterConfig):
    """All settings of `serve`; `SourceFlags` and `ServeFlags` say what each is."""

    port: int | None = 50_061
    source: SourceName
    shm_path: Path | None = None
    engine_url: str | None = None
    api_key_file: Path | None = None
    dp_size: int | None = None
    mapping: str | None = None
    max_running_requests: int | None = None
    max_total_num_tokens: int | None = None
    first_dp_rank: int = 0
    metrics_prefix: str = ""
    select: tuple[str, ...] = ()
    http_port: int | None = None
    http_host: str = "127.0.0.1"
    remote_drain: bool = False
    log_format: LogFormat = "text"
    log_level: LogLevel = "info"


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFlags:
    """Where the load is read.

    Args:
        source: The shared memory or the HTTP server of an unmodified SGLang, the metrics of vLLM, SGLang or an engine that
            --mapping describes, or made-up numbers.
        shm_path: SGLang's snapshot file; by default the live one in /dev/shm is found.
        engine_url: The engine's HTTP address, such as http://127.0.0.1:30000.
        api_key_file: File that holds the engine's API key.
        dp_size: Data-parallel ranks to expect; by default as many as the source says.
        stale_after_ms: Ranks older than this make a report STALE; by default 3000.
        publish_interval_ms: How often the engine publishes its load, where that is known; --stale-after-ms may not be less.
        mapping: With --source mapping: a TOML file, or one of llamacpp, lmdeploy, sglang, tgi, trtllm, vllm.
        max_running_requests: Most requests that run at once in each rank; vLLM's --max-num-seqs.
        max_total_num_tokens: KV capacity of each rank in tokens, where the engine doesn't tell it.
        first_dp_rank: Lowest rank of this engine, where it serves a part of a larger set; by default 0.
        metrics_prefix: What stands before each metric's name, such as ray_.
        select: LABEL=VALUE that series must have, to choose one engine out of several; may be repeated.
    """

    source: SourceName | None = None
    shm_path: Path | None = None
    engine_url: str | None = None
    api_key_file: Path | None = None
    dp_size: int | None = None
    stale_after_ms: int | None = None
    publish_interval_ms: int | None = None
    mapping: str | None = None
    max_running_requests: int | None = None
    max_total_num_tokens: int | None = None
    first_dp_rank: int | None = None
    metrics_prefix: str | None = None
    select: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=False)] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServeFlags:
    """Who is served, and how.

    Args:
        listen: Where to serve, as HOST:PORT, by default 127.0.0.1:50061; 0.0.0.0:50061 for routers on other machines. Port 0 takes
            any free one, told by the first line of output.
        worker_addr: Where requests reach the engine, for people to read in reports.
        worker_type: What the engine serves.
        model: Name of the served model.
        zone: Placement label.
        min_report_interval_ms: Shortest report interval granted to a router; by default 10.
        max_lease_ttl_ms: Longest lease granted to a router; by default 300000.
        max_sessions: Most routers served at once; by default 1024.
        max_frames_per_second: Most frames read from one router, as a mean over a second; by default 1000.
        orca: Serve ORCA's out-of-band reports on the port too, to clients of gRPC and Envoy that balance load.
        orca_min_interval_ms: Shortest interval granted to an ORCA client, and that of one which asks for none; by default 1000.
        alignment: "epoch" lets routers with equal intervals share their reads; by default "registration".
        pull_budget_ms: Longest one read of the load may take; by default 1000.
        overshoot: "clamp" caps a load above its capacity; by default "strict", which reports UNREACHABLE.
        tls_cert_file: PEM file of the certificate that routers see; with --tls-key-file it switches TLS on. Looked at once a
            second, as the two below: a change counts for new connections.
        tls_key_file: PEM file of its key, not encrypted.
        tls_client_ca_file: PEM file of the CAs that sign routers' certificates; only who has one can then connect.
        allow_router: NAME=ROUTER_ID: a name of a client certificate, and an id it may register, or the start of one and *; may
            be repeated. By default any id.
        auth_token_file: File of bearer tokens, one a line, of which a router must send one; read at each registration.
        http_listen: Where to serve HTTP, as HOST:PORT: /metrics, /livez, /readyz, and /drain, which `loadmonitor-worker drain` uses;
            port 0 takes any free one, told by the second line of output. By default nowhere.
        remote_drain: Let anybody who reaches the second listener drain, by GET too, as a kubelet's preStop httpGet does; by
            default only processes of this machine or pod may, by POST.
        log_format: "json" writes one object a line; by default "text".
        log_level: What is logged on stderr: changes of state ("info", the default), or troubles only.
    """

    listen: str | None = None
    worker_addr: str | None = None
    worker_type: WorkerType | None = None
    model: str | None = None
    zone: str | None = None
    min_report_interval_ms: int | None = None
    max_lease_ttl_ms: int | None = None
    max_sessions: int | None = None
    max_frames_per_second: int | None = None
    orca: bool | None = None
    orca_min_interval_ms: int | None = None
    alignment: Literal["registration", "epoch"] | None = None
    pull_budget_ms: int | None = None
    overshoot: Literal["strict", "clamp"] | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    tls_client_ca_file: Path | None = None
    allow_router: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=False)] = None
    auth_token_file: Path | None = None
    http_listen: str | None = None
    remote_drain: bool | None = None
    log_format: LogFormat | None = None
    log_level: LogLevel | None = None


NO_SOURCE_FLAGS = SourceFlags()
NO_SERVE_FLAGS = ServeFlags()


def sidecar_settings(source: SourceFlags, serve: ServeFlags = NO_SERVE_FLAGS) -> LoadedSettings[SidecarConfig]:
    """Return the settings that flags and this process's environment give.

    Raises:
        ConfigError: A value isn't allowed, or a variable's name is no setting's.
    """
    return load_settings(SidecarConfig, environ=os.environ, flags=asdict(source) | asdict(serve))

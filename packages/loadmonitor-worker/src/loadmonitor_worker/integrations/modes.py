"""The serving modes as a table: what serves, who owns the reporter, and which source tells the load there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMode:
    """One way of serving an engine.

    Attributes:
        name: What the mode is called.
        owner: Which process, and what in it, owns the reporter.
        through: Public name of `loadmonitor_worker.integrations`, or the command, that runs it.
        sources: Classes of `loadmonitor_worker.sources`, or functions of `integrations`, that tell the whole load there.
        not_sources: Those that don't, and why.
        closed_by: Where the reporter is closed.
        example: A program of `docs/programs` that runs, or None.
    """

    name: str
    owner: str
    through: str
    sources: tuple[str, ...]
    not_sources: tuple[tuple[str, str], ...] = ()
    closed_by: str
    example: str | None


_NOT_OF_THIS_PROCESS = "reads the manager of one process"
_ANY = ("CallableSource", "ManagerSource", "SglangShmSource", "SglangHttpSource")

SERVING_MODES: tuple[ServingMode, ...] = (
    ServingMode(
        name="HTTP",
        owner="the process, in its lifespan",
        through="SharedReporter",
        sources=_ANY,
        closed_by="the lifespan's end, before the engine's",
        example="serve_http.py",
    ),
    ServingMode(
        name="native gRPC beside HTTP",
        owner="the process, in whichever server starts first",
        through="SharedReporter",
        sources=_ANY,
        closed_by="the end of the server that stops last",
        example="serve_http_and_grpc.py",
    ),
    ServingMode(
        name="multi-worker HTTP",
        owner="the worker process that holds `owner.lock`",
        through="ElectedReporter",
        sources=("SglangShmSource",),
        not_sources=(
            ("ManagerSource", _NOT_OF_THIS_PROCESS),
            ("SglangHttpSource", "asks the server that it would run in, whichever worker answers"),
        ),
        closed_by="the owner's lifespan; by the kernel, for a worker that dies",
        example="serve_http_workers.py",
    ),
    ServingMode(
        name="standalone gRPC servicer",
        owner="the servicer's process, from its readiness hook",
        through="serve_with_reporter",
        sources=("request_manager_source",),
        closed_by="the end of the servicer's `serve_grpc`",
        example="serve_servicer.py",
    ),
    ServingMode(
        name="synchronous engine, or a loop that may stand still",
        owner="a thread with a loop of its own",
        through="ReporterThread",
        sources=("CallableSource", "SglangShmSource", "SglangHttpSource"),
        not_sources=(("ManagerSource", "belongs to the engine's event loop"),),
        closed_by="`stop`, or the interpreter's exit",
        example="serve_thread.py",
    ),
    ServingMode(
        name="sidecar",
        owner="the sidecar's process",
        through="loadmonitor-worker serve",
        sources=("SglangShmSource", "SglangHttpSource"),
        not_sources=(("ManagerSource", "is in the engine's process"), ("CallableSource", "is in the engine's process")),
        closed_by="SIGTERM",
        example=None,
    ),
    ServingMode(
        name="embedded offline engine",
        owner="nobody: no router can send it requests",
        through="refuse_reporter",
        sources=(),
        closed_by="nothing to close",
        example="embedded_engine.py",
    ),
)

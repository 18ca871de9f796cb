"""The serving modes as a table: who owns the reporter in each, what runs it, and which sources tell the whole load there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class SourceKind(StrEnum):
    """Where a source reads, which decides where it can be used."""

    LOOP = "on the engine's event loop"
    FUNCTION = "by a plain function, in a thread"
    SHARED_MEMORY = "from shared memory"
    HTTP = "from the engine's HTTP server"


SOURCES: Mapping[SourceKind, tuple[str, ...]] = {
    SourceKind.LOOP: ("ManagerSource", "CallableSource"),
    SourceKind.FUNCTION: ("CallableSource",),
    SourceKind.SHARED_MEMORY: ("SglangShmSource",),
    SourceKind.HTTP: ("SglangHttpSource", "MetricsSource"),
}
"""The sources of each kind, by their names in `loadmonitor_worker.sources`; CallableSource is of either by its function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingMode:
    """One way of serving an engine.

    Attributes:
        name: What the mode is called.
        owner: Which process, and what in it, owns the reporter.
        through: What runs it: a public name of `loadmonitor_worker.integrations`, or a command.
        sources: For each kind of source "yes", what to heed, or why not.
        closed_by: What closes the reporter.
        example: A program of the project's `docs/programs`, or None.
    """

    name: str
    owner: str
    through: str
    sources: Mapping[SourceKind, str]
    closed_by: str
    example: str | None


def _sources(*, loop: str, function: str, shared_memory: str, http: str) -> Mapping[SourceKind, str]:
    return dict(zip(SourceKind, (loop, function, shared_memory, http), strict=True))


_ASKS_ITSELF = "yes, though the engine then asks itself"
_NOT_HERE = "no: it is in the engine's process"
_BY_MANAGER = "no: the request manager is read"
_NOBODY = "no: nothing is reported"

SERVING_MODES: tuple[ServingMode, ...] = (
    ServingMode(
        name="HTTP",
        owner="the process, in its lifespan",
        through="SharedReporter",
        sources=_sources(loop="yes", function="yes", shared_memory="yes", http=_ASKS_ITSELF),
        closed_by="the lifespan's end, before the engine's",
        example="serve_http.py",
    ),
    ServingMode(
        name="native gRPC beside HTTP",
        owner="the process, in whichever server enters first",
        through="SharedReporter",
        sources=_sources(loop="yes", function="yes", shared_memory="yes", http=_ASKS_ITSELF),
        closed_by="the end of the server that leaves last",
        example="serve_http_and_grpc.py",
    ),
    ServingMode(
        name="multi-worker HTTP",
        owner="the worker process that holds `owner.lock`",
        through="ElectedReporter",
        sources=_sources(
            loop="no: a worker knows its own part only",
            function="if it tells the load of all workers",
            shared_memory="yes",
            http=_ASKS_ITSELF,
        ),
        closed_by="the owner's lifespan; the kernel, when the owner dies",
        example="serve_http_workers.py",
    ),
    ServingMode(
        name="standalone gRPC servicer",
        owner="the servicer's process, from its readiness hook on",
        through="serve_with_reporter",
        sources=_sources(
            loop="yes: the servicer's request manager",
            function=_BY_MANAGER,
            shared_memory=_BY_MANAGER,
            http=_BY_MANAGER,
        ),
        closed_by="the end of the servicer's `serve_grpc`",
        example="serve_servicer.py",
    ),
    ServingMode(
        name="synchronous engine, or a loop that may stand still",
        owner="a thread of the process, with a loop of its own",
        through="ReporterThread",
        sources=_sources(loop="no: another loop's", function="yes", shared_memory="yes", http="yes"),
        closed_by="`stop`, or the interpreter's exit",
        example="serve_thread.py",
    ),
    ServingMode(
        name="sidecar",
        owner="a process beside the engine",
        through="loadmonitor-worker serve",
        sources=_sources(loop=_NOT_HERE, function=_NOT_HERE, shared_memory="yes", http="yes"),
        closed_by="SIGTERM",
        example=None,
    ),
    ServingMode(
        name="embedded offline engine",
        owner="nobody: no router can send it requests",
        through="refuse_reporter",
        sources=_sources(loop=_NOBODY, function=_NOBODY, shared_memory=_NOBODY, http=_NOBODY),
        closed_by="nothing is open",
        example="embedded_engine.py",
    ),
)
"""Every way of serving an engine, from the usual to the special."""

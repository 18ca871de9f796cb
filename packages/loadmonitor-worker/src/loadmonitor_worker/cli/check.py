"""`loadmonitor-worker check`: hop by hop, what works between an engine and its reports, and what to change."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_worker._tls import certificate_cache
from loadmonitor_worker._validate import name_ranks, validate_ranks
from loadmonitor_worker._verdict import Attempt, ReportStatus, judge
from loadmonitor_worker.cli._filling import who_fills
from loadmonitor_worker.cli._flags import in_flags
from loadmonitor_worker.cli._options import closing, make_http_source, make_source
from loadmonitor_worker.cli._settings import NO_SOURCE_FLAGS, SidecarConfig, SourceFlags, sidecar_settings
from loadmonitor_worker.errors import CredentialFileError, SourceError
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.sources import MetricsSource, SglangHttpSource, SglangShmSource, ShmVerdict, inspect_candidates

SCHEMA = "loadmonitor-worker.check/1"
_DIRECTORY = Path("/dev/shm")  # noqa: S108 - where SGLang publishes, not a place for our own files


@dataclass(frozen=True, slots=True)
class Hop:
    """One step from the engine to a report: whether it works, and what was seen."""

    ok: bool
    hop: str
    detail: str


def check(
    *,
    source_flags: SourceFlags = NO_SOURCE_FLAGS,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Say hop by hop what works between the engine and its reports, and what to change; exits 1 when a hop fails.

    Each flag has an environment variable, LOADMONITOR_ and its name in capitals, so that in a sidecar's container it checks what the
    sidecar reads, and the certificate that LOADMONITOR_TLS_CERT_FILE names.

    Args:
        source_flags: Where the load is read. With --source sglang-shm, --engine-url asks the engine too, which shows whether
            it fills its file by itself.
        json_lines: Print one JSON object a hop.
    """
    loaded = sidecar_settings(source_flags)
    config = loaded.config
    if config.source == "sglang-shm" and config.engine_url is not None:
        engine = make_http_source(config, dp_size=None)
        reader = make_source(loaded, unless=("engine_url", "api_key_file"))
    else:
        engine, reader = None, make_source(loaded)
    return asyncio.run(_check(reader, engine, config, json_lines=json_lines))


async def _check(
    source: LoadSnapshotSource, engine: SglangHttpSource | None, config: SidecarConfig, *, json_lines: bool
) -> int:
    ok = True
    async with closing(source), closing(engine):
        async for hop in _hops(source, engine, config):
            ok = ok and hop.ok
            line = (
                json.dumps({"schema": SCHEMA} | asdict(hop))
                if json_lines
                else f"{'ok' if hop.ok else 'fail':<5} {hop.hop:<10} {hop.detail}"
            )
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 0 if ok else 1


async def _hops(
    source: LoadSnapshotSource, engine: SglangHttpSource | None, config: SidecarConfig
) -> AsyncIterator[Hop]:
    yield Hop(ok=True, hop="reporter", detail=f"grpcio {version('grpcio')}, protobuf {version('protobuf')}")
    if config.tls_cert_file is not None:
        yield _certificate(config)
    if isinstance(source, SglangShmSource) and source.path is None:
        for candidate in inspect_candidates(_DIRECTORY, time.time_ns() // 1_000_000):
            size = "" if candidate.dp_size is None else f" (version {candidate.version}, {candidate.dp_size} ranks)"
            usable = candidate.verdict is not ShmVerdict.UNUSABLE
            yield Hop(
                ok=True,
                hop="candidate",
                detail=f"{candidate.verdict}{size}: {candidate.detail}" if usable else candidate.detail,
            )
    started_ns = time.monotonic_ns()
    try:
        loads = await source.get_loads()
    except SourceError as error:
        yield Hop(ok=False, hop="read", detail=str(error))
        return
    read_ms = (time.monotonic_ns() - started_ns) / 1_000_000
    yield Hop(
        ok=True,
        hop="read",
        detail=f"{len(loads)} rank{'s' if len(loads) != 1 else ''} in {read_ms:.1f} ms{_origin(source)}",
    )
    if isinstance(source, SglangHttpSource):
        yield _dating(source)
    if isinstance(source, MetricsSource):
        for hop in _metrics_hops(source):
            yield hop
    if isinstance(source, SglangShmSource) and engine is not None:
        yield await _filling(source, engine)
    try:
        ranks, _ = validate_ranks(loads, source.expected_dp_ranks(), clamp=False)
        yield Hop(ok=True, hop="valid", detail="every expected rank, every value in range")
    except SourceError as error:
        yield Hop(ok=False, hop="valid", detail=str(error))
        return
    verdict = judge(Attempt(ranks), now_unix_ms=time.time_ns() // 1_000_000, stale_after_ms=config.stale_after_ms)
    age = "unknown age" if verdict.max_snapshot_age_ms is None else f"oldest rank {verdict.max_snapshot_age_ms} ms old"
    fresh = verdict.status is ReportStatus.HEALTHY
    advice = "" if fresh else f": the engine is starting, hangs or is gone{_stale_advice(source)}"
    yield Hop(ok=fresh, hop="fresh", detail=f"{verdict.status}, {verdict.last_error or age}{advice}")


def _certificate(config: SidecarConfig) -> Hop:
    try:
        certificates = certificate_cache(config)
    except CredentialFileError as error:
        return Hop(ok=False, hop="tls", detail=in_flags(str(error)))
    expiry = None if certificates is None else certificates.expiry()
    detail = (
        "the certificate and its key belong together, and it hasn't expired" if expiry is None else in_flags(expiry)
    )
    return Hop(ok=expiry is None, hop="tls", detail=detail)


def _origin(source: LoadSnapshotSource) -> str:
    match source:
        case SglangShmSource():
            return f" from {source.path}"
        case SglangHttpSource() | MetricsSource():
            return f" from {source.url}"
        case _:
            return ""


def _stale_advice(source: LoadSnapshotSource) -> str:
    match source:
        case SglangShmSource():
            return (
                "; a restarted one publishes in a new file; where one that serves looks like this, --engine-url asks it whether "
                "it fills its file only when asked"
            )
        case SglangHttpSource():
            return ", or its clock and this machine's differ"
        case _:
            return ""


def _dating(source: SglangHttpSource) -> Hop:
    if not source.stamped_by_receipt:
        return Hop(ok=True, hop="dated", detail="the engine tells when it took each rank's numbers")
    ranks = name_ranks(sorted(source.stamped_by_receipt))
    return Hop(
        ok=True,
        hop="dated",
        detail=f"{ranks} by the arrival of the answer, as the engine doesn't tell when it took them: if it hangs behind its "
        "HTTP server, nobody sees it; SGLang 0.5.23 tells",
    )


def _metrics_hops(source: MetricsSource) -> Iterator[Hop]:
    yield Hop(
        ok=True,
        hop="dated",
        detail="every rank by the moment before it was asked for: metrics don't say when they were taken",
    )
    by_reason: dict[str, list[str]] = {}
    for field, reason in source.unknown_fields.items():
        by_reason.setdefault(reason, []).append(field)
    for reason, fields in by_reason.items():
        yield Hop(ok=True, hop="unknown", detail=f"{', '.join(fields)}: {reason}; reports say so")


async def _filling(file: SglangShmSource, engine: SglangHttpSource) -> Hop:
    try:
        ok, detail = await who_fills(file, engine)
    except SourceError as error:
        return Hop(ok=False, hop="filled", detail=str(error))
    return Hop(ok=ok, hop="filled", detail=detail)

"""One simulated puller, a process: lists sources, lets a policy order them, and pulls from the first that gives the weights.

    uv run python docs/programs/p2p_puller.py '{"worker_id": "new-0", "registry": "127.0.0.1:8001"}'

It answers each line of its stdin, a JSON object `{"do": COMMAND, ...}`, with one of its stdout, and ends when stdin does.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc.aio
from p2p_commands import MODEL, answer_commands, tell
from prometheus_client import generate_latest

from p2p_registry import RegistryUnreachableError, SourceGoneError, SourceIdentity
from p2p_registry.client import RegistryClient
from p2p_registry.server import CHANNEL_OPTIONS
from p2p_selection import (
    AttemptOutcome,
    Candidate,
    CandidateFilter,
    MetadataLookupError,
    MetadataMissError,
    NoSourceLeftError,
    Selection,
    SelectionConfig,
    SelectionPipeline,
    Target,
    attempt,
    get_selector,
)
from p2p_selection.prometheus import SelectionMetrics


@dataclass(frozen=True, kw_only=True)
class PullerConfig:
    """What a puller is told when it starts.

    Attributes:
        worker_id: Its id.
        registry: Address of the registry's replica that it asks.
    """

    worker_id: str
    registry: str


class Puller:
    """A puller and the commands that it takes."""

    def __init__(self, config: PullerConfig) -> None:
        """Connect when the first call needs it; made on the event loop that makes the calls."""
        self._config = config
        self._channel = grpc.aio.insecure_channel(config.registry, options=CHANNEL_OPTIONS)
        self._client = RegistryClient(self._channel)
        self._metrics = SelectionMetrics(source_id_label=True)

    async def do(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a command, and return the answer to it.

        `pull` and `order` take a `policy`, and may have a `weight`, a `max_age_ms`, `as` (another id than its own) and `endpoint`
        (where others reach it).
        """
        what = command["do"]
        if what == "metrics":
            return {"text": generate_latest(self._metrics.registry).decode()}
        if what == "pull":
            return await self._pull(command)
        if what == "order":
            pipeline, target = self._pipeline(command, limit=None)
            return self._report(await self._select(pipeline, target))
        raise ValueError(f"there is no command {what!r}")

    async def close(self) -> None:
        """Let go of everything."""
        await self._channel.close()

    def _pipeline(self, command: Mapping[str, Any], *, limit: int | None) -> tuple[SelectionPipeline, Target]:
        config = SelectionConfig(policy=command["policy"], load_weight=command.get("weight", 1.0))
        # A new one each time, because each pull stands for a process that has just started.
        pipeline = SelectionPipeline(
            get_selector(config=config),
            conditions=CandidateFilter(max_age_ms=command.get("max_age_ms", 90_000)),
            limit=limit,
            hook=self._metrics,
        )
        own_id = command.get("as", self._config.worker_id)
        target = Target(MODEL, own_id, 0, endpoint=command.get("endpoint"), accelerator="cuda")
        return pipeline, target

    async def _select(self, pipeline: SelectionPipeline, target: Target) -> Selection:
        try:
            listing = await self._client.list_sources(SourceIdentity(model_name=MODEL))
        except RegistryUnreachableError as error:
            pipeline.listing_failed(error)
            raise
        return pipeline.select(listing.sources, target)

    async def _pull(self, command: Mapping[str, Any]) -> dict[str, Any]:
        # More than the three that it may fail at, because sources that are gone by then cost nothing.
        pipeline, target = self._pipeline(command, limit=8)
        selection = await self._select(pipeline, target)
        attempts: list[tuple[str, str]] = []

        class Attempts:
            """Hands on what becomes of each attempt, and keeps it."""

            def attempted(
                self, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None = None
            ) -> None:
                attempts.append((candidate.worker_id, outcome.value))
                pipeline.attempted(candidate, outcome, seconds, error)

        started = time.monotonic()
        report = self._report(selection) | {"attempts": attempts, "source": None, "bytes": 0, "error": ""}
        try:
            source, length = await attempt(
                selection.sources,
                lambda candidate: self._transfer(candidate, target),
                deadline_seconds=60,
                feedback=Attempts(),
            )
            report |= {"source": source.worker_id, "bytes": length}
        except NoSourceLeftError as error:
            report["error"] = str(error)
        return report | {"seconds": time.monotonic() - started}

    async def _transfer(self, candidate: Candidate, target: Target) -> int:
        try:
            metadata = await self._client.metadata(candidate)
        except SourceGoneError as error:
            raise MetadataMissError(str(error)) from error
        except RegistryUnreachableError as error:
            raise MetadataLookupError(str(error)) from error
        endpoint = metadata.worker_grpc_endpoint
        if endpoint == target.endpoint:
            # A listing doesn't tell endpoints, so an earlier life of oneself is only found out here.
            raise MetadataMissError(f"{endpoint} is the puller's own")
        host, _, port = endpoint.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            wanted = {"worker_id": candidate.worker_id, "puller": self._config.worker_id}
            writer.write(json.dumps(wanted).encode() + b"\n")
            told = json.loads(await reader.readuntil(b"\n"))
            if told["worker_id"] != candidate.worker_id:
                raise ConnectionError(f"{endpoint} is {told['worker_id']} now, not {candidate.worker_id}")
            return len(await reader.readexactly(told["bytes"]))
        finally:
            writer.close()

    def _report(self, selection: Selection) -> dict[str, Any]:
        listed = {
            verdict.candidate.worker_id: verdict.candidate.source_load
            for verdict in selection.verdicts
            if verdict.candidate is not None
        }
        return {
            "puller": self._config.worker_id,
            "source_id": next((v.candidate.mx_source_id for v in selection.verdicts if v.candidate), ""),
            "listed": listed,
            "order": [source.worker_id for source in selection.sources],
            "dropped": {reason.value: count for reason, count in selection.dropped.items()},
        }


async def main(config: PullerConfig) -> None:
    """Say that it is there, and answer commands until there are no more."""
    puller = Puller(config)
    tell({})
    await answer_commands(puller.do)
    await puller.close()


if __name__ == "__main__":
    asyncio.run(main(PullerConfig(**json.loads(sys.argv[1]))))

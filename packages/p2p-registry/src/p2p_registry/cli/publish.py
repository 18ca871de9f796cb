"""`p2p-registry publish`: keeps one source listed until it is told to stop."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from p2p_registry.cli._connecting import NO_FLAGS, RegistryFlags
from p2p_registry.cli._output import print_json, print_line
from p2p_registry.cli._stopping import stop_signals
from p2p_registry.errors import SettingError
from p2p_registry.identity import BackendFramework, SourceIdentity, SourceType
from p2p_registry.publisher import SourcePublisher
from p2p_registry.publishing import PublisherSettings, PublisherState
from p2p_registry.registration import Registration, new_worker_id
from p2p_registry.wire import WorkerMetadata

SCHEMA: Final = "p2p-registry.publish/1"
_Unset = Parameter(show_default=False)
_Repeated = Parameter(show_default=False, negative="")


def run_publish(
    model: str,
    /,
    *,
    flags: RegistryFlags = NO_FLAGS,
    rank: int = 0,
    worker_id: Annotated[str | None, _Unset] = None,
    metadata_endpoint: Annotated[str, _Unset] = "",
    worker_grpc_endpoint: Annotated[str, _Unset] = "",
    agent_name: Annotated[str, _Unset] = "",
    transfer_engine_session_id: Annotated[str, _Unset] = "",
    accelerator: Annotated[str, _Unset] = "",
    topology: Annotated[Sequence[str], _Repeated] = (),
    source_type: str = "weights",
    framework: str = "unknown",
    tensor_parallel_size: int = 0,
    pipeline_parallel_size: int = 0,
    expert_parallel_size: int = 0,
    dtype: Annotated[str, _Unset] = "",
    quantization: Annotated[str, _Unset] = "",
    revision: Annotated[str, _Unset] = "",
    mx_version: Annotated[str, _Unset] = "",
    extra: Annotated[Sequence[str], _Repeated] = (),
    load_file: Annotated[Path | None, _Unset] = None,
    max_load_age_seconds: float = 30.0,
    heartbeat_seconds: float = 30.0,
    json_lines: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False,
) -> int:
    """Publish one source and keep it alive until interrupted.

    For an engine that publishes nothing itself, or only once. Prints a line
    whenever the source's standing at the registry changes. A registry that
    doesn't answer yet is waited for. At SIGTERM and Ctrl-C the source is
    marked STALE.

    Args:
        model: Name of the model, as pullers ask for it.
        flags: Which registry, and how this command and it know each other.
        rank: Rank of the shard, unique among those that share the identity.
        worker_id: Id of this life of the process; by default a random one.
        metadata_endpoint: Where pullers fetch the transfer metadata, as HOST:PORT.
        worker_grpc_endpoint: Where the process serves its manifest, as HOST:PORT.
        agent_name: Name of its NIXL agent.
        transfer_engine_session_id: Id of its Mooncake transfer engine session.
        accelerator: What it runs on, such as cuda.
        topology: Where it is, as LEVEL=NAME; may be repeated.
        source_type: What it serves, such as weights, lora or triton_cache.
        framework: The engine: vllm, sglang, trt_llm or unknown.
        tensor_parallel_size: Processes that share each layer; 0 where not told.
        pipeline_parallel_size: Stages that share the layers; 0 where not told.
        expert_parallel_size: Processes that share the experts; 0 where not told.
        dtype: Type of the weights, such as bfloat16.
        quantization: Name of the quantisation.
        revision: Revision of the model.
        mx_version: Version of the modelexpress convention that it follows.
        extra: What else must be equal, as KEY=VALUE; may be repeated.
        load_file: File that holds the load, a number from 0 to 1, read before each heartbeat.
        max_load_age_seconds: Oldest file that is still believed; an older one leaves the load unknown.
        heartbeat_seconds: From one heartbeat to the next, below 90.
        json_lines: Print one JSON object a change.
    """
    identity = SourceIdentity(
        model_name=model,
        mx_version=mx_version,
        mx_source_type=_member("source_type", source_type, SourceType),
        backend_framework=_member("framework", framework, BackendFramework),
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        expert_parallel_size=expert_parallel_size,
        dtype=dtype,
        quantization=quantization,
        revision=revision,
        extra_parameters=_pairs("extra", extra),
    )
    if not 0 <= rank < 2**32:
        raise SettingError("rank", rank, f"is not allowed: an integer from 0 to {2**32 - 1} is")
    metadata = WorkerMetadata(
        worker_rank=rank,
        metadata_endpoint=metadata_endpoint,
        worker_grpc_endpoint=worker_grpc_endpoint,
        agent_name=agent_name,
        accelerator=accelerator,
        topology=_pairs("topology", topology),
    )
    if transfer_engine_session_id:
        metadata.transfer_engine_session_id = transfer_engine_session_id
    registration = Registration(identity=identity, metadata=metadata, worker_id=worker_id or new_worker_id())
    settings = PublisherSettings(
        heartbeat_seconds=heartbeat_seconds, max_load_age_seconds=max_load_age_seconds, stale_on_sigterm=False
    )
    provider = None if load_file is None else load_of(load_file, max_load_age_seconds)
    return asyncio.run(_publish(flags, registration, settings, provider, json_lines=json_lines))


def load_of(file: Path, max_age_seconds: float) -> Callable[[], float | None]:
    """Return a provider that reads a load from a file: None where it isn't there, or wasn't written for too long.

    Args:
        file: Holds a number.
        max_age_seconds: Oldest time of its last change that is still believed.
    """

    def provider() -> float | None:
        try:
            age_seconds = time.time() - file.stat().st_mtime
        except FileNotFoundError:
            return None
        return float(file.read_text()) if age_seconds <= max_age_seconds else None

    return provider


async def _publish(
    flags: RegistryFlags,
    registration: Registration,
    settings: PublisherSettings,
    provider: Callable[[], float | None] | None,
    *,
    json_lines: bool,
) -> int:
    def tell(state: PublisherState, reason: str) -> None:
        if json_lines:
            print_json(
                SCHEMA,
                {
                    "state": state,
                    "reason": reason,
                    "mx_source_id": publisher.mx_source_id,
                    "model_name": registration.identity.model_name,
                    "worker_id": registration.worker_id,
                    "worker_rank": registration.metadata.worker_rank,
                },
            )
        else:
            print_line((state, registration.worker_id, reason))
        sys.stdout.flush()

    # Its log would say on stderr what the lines say.
    logging.getLogger(SourcePublisher.__module__).addHandler(logging.NullHandler())
    async with stop_signals() as stopped, flags.open_channel() as channel:
        publisher = SourcePublisher(channel, registration, provider=provider, settings=settings, on_change=tell)
        async with publisher:
            return await stopped.get()


def _member(setting: str, name: str, members: type[SourceType] | type[BackendFramework]) -> int:
    known = {member.name.lower(): member for member in members}
    if name.lower() not in known:
        raise SettingError(setting, name, f"is not allowed: {', '.join(known)} are")
    return known[name.lower()]


def _pairs(setting: str, entries: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not key or not equals:
            raise SettingError(setting, json.dumps(entry), "is not allowed: KEY=VALUE is")
        pairs[key] = value
    return pairs

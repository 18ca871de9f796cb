"""`p2p-registry list --json | p2p-selection explain -`, the installed commands, joined by a pipe."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import grpc.aio

from p2p_registry import MemoryBackend
from p2p_registry.server import RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig
from p2p_registry.wire import (
    PublishMetadataRequest,
    SourceIdentity,
    SourceStatus,
    UpdateStatusRequest,
    WorkerMetadata,
)

BIN = Path(sys.executable).parent
WAIT_SECONDS = 50
LOADS = {"busy": 0.9, "idle": 0.0, "mute": None, "broken": float("nan")}


def piped(address: str) -> list[dict[str, object]]:
    """Run one command into the other and return what the second printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MX_")}
    with subprocess.Popen(
        [BIN / "p2p-registry", "list", "--registry", address, "--json"], stdout=subprocess.PIPE, env=environment
    ) as listing:
        explained = subprocess.run(
            [BIN / "p2p-selection", "explain", "-", "--target", "m,me,0", "--policy", "load_aware", "--json"],
            stdin=listing.stdout,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
            env=environment,
        )
    assert listing.returncode == 0
    return [json.loads(line) for line in explained.stdout.splitlines()]


async def test_what_one_command_lists_the_other_explains() -> None:
    async with (
        RegistryServer(MemoryBackend(), ServerConfig(listen="127.0.0.1:0")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub = RegistryStub(channel)
        ready, stale = SourceStatus.SOURCE_STATUS_READY, SourceStatus.SOURCE_STATUS_STALE
        for worker_id, load in {**LOADS, "left": 0.1}.items():
            published = await stub.PublishMetadata(
                PublishMetadataRequest(
                    identity=SourceIdentity(model_name="m"),
                    worker=WorkerMetadata(accelerator="cuda"),
                    worker_id=worker_id,
                )
            )
            update = UpdateStatusRequest(
                mx_source_id=published.mx_source_id,
                worker_id=worker_id,
                source_load=load,
                status=stale if worker_id == "left" else ready,
            )
            assert (await stub.UpdateStatus(update)).success
        rows = {str(row["worker_id"]): row for row in await asyncio.to_thread(piped, server.address)}
    assert rows.keys() == {*LOADS, "left"}
    assert {row["mx_source_id"] for row in rows.values()} == {published.mx_source_id}
    # Unknown, whichever way it is, counts as half full; measured idle is nothing else.
    counted = {worker_id: rows[worker_id]["counted_load"] for worker_id in ("idle", "mute", "broken")}
    assert counted == {"idle": 0.0, "mute": 0.5, "broken": 0.5}
    assert abs(float(str(rows["busy"]["counted_load"])) - 0.9) < 1e-6
    assert (rows["left"]["fate"], rows["left"]["drop_reason"]) == ("dropped", "status")

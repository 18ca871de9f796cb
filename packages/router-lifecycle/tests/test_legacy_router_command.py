"""`router-lifecycle` as a process against a router that only has /add_worker, /remove_worker and /list_workers."""

import asyncio
import json
import signal
from pathlib import Path
from typing import cast

import pytest
from legacy_router import LegacyRouter
from lifecycle_bench import OTHER, URL
from lifecycle_process import ended, run, start

from router_lifecycle import Phase, RegistrationHandle, RemovalHandle, ReplacementHandle
from router_lifecycle.testing import FakeRouter
from router_lifecycle.testing.serving import serve

# Commands one after the other, which start slowly on a busy machine.
pytestmark = pytest.mark.timeout(180)


async def test_it_adds_lists_replaces_and_removes(tmp_path: Path) -> None:
    router = LegacyRouter()
    key, kept = tmp_path / "key", tmp_path / "handle.json"
    key.write_text("k-worker")
    # It is served as any ASGI application.
    async with serve(cast("FakeRouter", router)) as address:
        code, out, err = await run("add", URL, "--router", address)
        handle = RegistrationHandle.model_validate_json(out)
        assert (code, handle.phase, handle.dialect, router.urls) == (0, Phase.ACTIVE, "sync", [URL]), err

        listed, keyed = await asyncio.gather(
            run("list", "--router", address, "--json"),
            run("replace", URL, URL, "--router", address, "--worker-key-file", str(key)),
        )
        row = json.loads(listed[1])
        assert (listed[0], row["url"], row["is_healthy"]) == (0, URL, None)
        assert (keyed[0], "takes a URL and nothing else" in keyed[2][-1]) == (1, True), keyed
        assert ReplacementHandle.model_validate_json(keyed[1]).new.phase is Phase.NEW
        assert router.urls == [URL]

        code, out, err = await run("replace", URL, OTHER, "--router", address)
        assert (code, router.urls) == (0, [OTHER]), err
        kept.write_text(out)
        code, out, err = await run("remove", "--handle", str(kept), "--router", address)
        assert (code, RemovalHandle.model_validate_json(out).done, router.urls) == (0, True, []), err


async def test_wait_finds_out_what_became_of_an_add_that_was_stopped_while_the_router_worked(tmp_path: Path) -> None:
    router, arrived, going_on = LegacyRouter(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        arrived.set()
        await going_on.wait()

    router.wait = work
    async with serve(cast("FakeRouter", router)) as address:
        process = await start("add", URL, "--router", address)
        await arrived.wait()
        process.send_signal(signal.SIGINT)
        code, out, _ = await ended(process)
        assert (code, RegistrationHandle.model_validate_json(out).phase) == (130, Phase.SUBMISSION_UNKNOWN)
        going_on.set()
        kept = tmp_path / "handle.json"
        kept.write_text(out)
        code, out, err = await run("wait", "--handle", str(kept), "--timeout", "40")
        assert (code, router.urls) == (0, [URL]), err
        assert router.calls.count("POST /add_worker") == 1

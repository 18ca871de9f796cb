"""`router-lifecycle` as a process, against the fake router on a socket."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import httpx
import pytest
from lifecycle_bench import OTHER, SMG, URL
from lifecycle_process import COMMAND, WAIT_SECONDS, run, stopped_at

from router_lifecycle import Phase, RegistrationHandle, RemovalHandle, ReplacementHandle, WorkerSpec
from router_lifecycle.cli import run as run_here
from router_lifecycle.testing import FakeEngine, FakeRouter, Health, RouterOptions
from router_lifecycle.testing.serving import serve

WRONG_USAGE = [
    (["add", "10.0.0.1:30000", "--router", "http://r:1"], "http://"),
    (["add", URL, "--router", "r:1"], "router URL"),
    (["add", URL], "--router"),
    (["add", URL, "--router", "http://r:1", "--worker-type", "prefill"], "bootstrap_port"),
    (["add", URL, "--router", "http://r:1", "--label", "a"], "NAME=VALUE"),
    (["add", URL, "--router", "http://r:1", "--timeout", "0"], "--timeout"),
    (["remove", "--router", "http://r:1"], "--handle"),
    (["wait", "--handle", "/nowhere/handle.json"], "/nowhere/handle.json"),
    (["wait", "--handle", os.devnull], "holds no handle"),
    (["list", "--router", "http://r:1", "--api-key-file", "/nowhere/key"], "/nowhere/key"),
    (["bogus"], "bogus"),
]


def fake(version: str = "0.3.2", *engines: FakeEngine, **options: Any) -> FakeRouter:
    return FakeRouter(
        version,
        engines=engines or (FakeEngine(URL), FakeEngine(OTHER)),
        clock=time.monotonic,
        options=RouterOptions(drain_seconds=0.3, **options),
    )


def routable(router: FakeRouter) -> list[str]:
    return [worker.url for worker in router.workers if worker.routable]


async def put_up(router: FakeRouter, address: str) -> None:
    """Have a worker there, without the command."""
    async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
        await http.post("/workers", json={"url": URL})
    for _ in range(3_000):
        if routable(router):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{URL} didn't become routable")


async def add_and_remove(version: str, folder: Path) -> None:
    router = fake(version)
    async with serve(router) as address:
        code, out, err = await run("add", URL, "--router", address, "--timeout", "40", "--priority", "7")
        assert code == 0, (version, err)
        assert RegistrationHandle.model_validate_json(out).phase is Phase.ACTIVE
        assert [line.split()[0] for line in err][:2] == ["submitting", "accepted"]
        assert err[-1].startswith("active ")
        assert routable(router) == [URL]

        kept = folder / f"{version}.json"
        kept.write_text(out)
        code, out, err = await run("remove", "--handle", str(kept), "--router", address, "--timeout", "40")
        assert code == 0, (version, err)
        assert RemovalHandle.model_validate_json(out).done
        assert router.workers == []


async def test_a_worker_is_added_and_removed_at_each_router(tmp_path: Path) -> None:
    await asyncio.gather(*(add_and_remove(version, tmp_path) for version in ("0.2.4", "0.3.2", SMG)))


async def test_list_prints_columns_or_one_object_an_entry() -> None:
    async with serve(fake()) as address:
        assert (await run("add", URL, "--router", address))[0] == 0
        (code, table, err), (_, listed, _) = await asyncio.gather(
            run("list", "--router", address), run("list", "--router", address, "--json")
        )
    (row,) = map(json.loads, listed.splitlines())
    assert (code, err) == (0, [])
    assert (row["schema"], row["url"], row["routable"]) == ("router-lifecycle.worker/1", URL, True)
    titles, cells = (line.split() for line in table.splitlines())
    told = dict(zip(titles, cells, strict=True))
    assert (told["URL"], told["ID"], told["HEALTHY"], told["STATUS"]) == (URL, row["id"], "yes", "-")


async def stop_and_resume(version: str, stop: signal.Signals, folder: Path) -> None:
    engine = FakeEngine(URL, health=Health.LOADING)
    if version == SMG:
        # Which probes again after 30 s only, but takes 2.5 s more for an engine that tells nothing of itself.
        engine = FakeEngine(URL, api_key="k-worker")
    router = fake(version, engine)
    async with serve(router) as address:
        code, out, lines = await stopped_at("pending", stop, "add", URL, "--router", address, "--timeout", "40")
        assert code == 130, version
        assert lines[-1].startswith("router-lifecycle: interrupted; ")
        assert RegistrationHandle.model_validate_json(out).phase is Phase.ACCEPTED

        engine.becomes(Health.HEALTHY, time.monotonic())
        kept = folder / f"{version}.json"
        kept.write_text(out)
        code, text, lines = await run("wait", "--handle", str(kept), "--timeout", "40")
        assert code == 0, (version, lines)
        assert RegistrationHandle.model_validate_json(text).phase is Phase.ACTIVE
        assert routable(router) == [URL]
        assert [request.method for request in router.requests].count("POST") == 1


async def test_a_stop_in_the_middle_leaves_a_handle_that_wait_resumes(tmp_path: Path) -> None:
    await asyncio.gather(
        stop_and_resume("0.2.4", signal.SIGINT, tmp_path),
        stop_and_resume("0.3.2", signal.SIGINT, tmp_path),
        stop_and_resume(SMG, signal.SIGTERM, tmp_path),
    )


async def test_wait_first_finds_out_what_became_of_a_lost_answer(tmp_path: Path) -> None:
    router = fake("0.2.4")
    async with serve(router) as address:
        assert (await run("add", URL, "--router", address))[0] == 0
        handle = RegistrationHandle(
            router=address,
            spec=WorkerSpec(url=URL),
            phase=Phase.SUBMISSION_UNKNOWN,
            listed_before=False,
            submitted_at_unix_seconds=time.time(),
        )
        kept = tmp_path / "handle.json"
        kept.write_text(handle.model_dump_json())
        code, out, err = await run("wait", "--handle", str(kept), "--timeout", "40")
        assert code == 0, err
        assert RegistrationHandle.model_validate_json(out).phase is Phase.ACTIVE


async def test_a_timeout_exits_1_and_prints_the_handle_all_the_same() -> None:
    async with serve(fake("0.3.2", FakeEngine(URL, health=Health.LOADING))) as address:
        code, out, err = await run("add", URL, "--router", address, "--timeout", "1", "--json")
    assert code == 1
    assert RegistrationHandle.model_validate_json(out).phase is Phase.ACCEPTED
    *events, error = map(json.loads, err)
    assert [event["event"] for event in events][:2] == ["submitting", "accepted"]
    assert (error["schema"], error["error"]) == ("router-lifecycle.error/1", "OperationTimeout")
    assert error["safe_to_resubmit"] is False


async def test_replace_puts_one_worker_in_the_place_of_another_and_prints_the_new_handle() -> None:
    router = fake()
    async with serve(router) as address:
        assert (await run("add", URL, "--router", address))[0] == 0
        code, out, err = await run("replace", URL, OTHER, "--router", address, "--timeout", "40")
        assert code == 0, err
        handle = RegistrationHandle.model_validate_json(out)
        assert (handle.url, handle.phase) == (OTHER, Phase.ACTIVE)
        assert routable(router) == [OTHER]


async def test_wait_finishes_a_replacement_that_was_stopped_before_the_new_one_was_active(tmp_path: Path) -> None:
    engine = FakeEngine(OTHER, health=Health.LOADING)
    router = fake("0.3.2", FakeEngine(URL), engine)
    async with serve(router) as address:
        await put_up(router, address)
        code, out, err = await stopped_at("accepted", signal.SIGINT, "replace", URL, OTHER, "--router", address)
        assert code == 130
        assert any(line.startswith("left ") and f"{URL} isn't removed; `router-lifecycle wait" in line for line in err)
        assert ReplacementHandle.model_validate_json(out).new.phase is Phase.ACCEPTED
        assert routable(router) == [URL]

        engine.becomes(Health.HEALTHY, time.monotonic())
        kept = tmp_path / "replacement.json"
        kept.write_text(out)
        code, text, err = await run("wait", "--handle", str(kept), "--timeout", "40")
        assert code == 0, err
        assert (RegistrationHandle.model_validate_json(text).phase, routable(router)) == (Phase.ACTIVE, [OTHER])
        assert [request.method for request in router.requests].count("POST") == 2


async def test_wait_finishes_a_replacement_in_place_that_was_stopped_between_its_halves(tmp_path: Path) -> None:
    router = fake("0.2.4", FakeEngine(URL, api_key="k-worker"))
    key, kept = tmp_path / "key", tmp_path / "replacement.json"
    key.write_text("k-worker")
    with_key = ("--worker-key-file", str(key))
    async with serve(router) as address:
        await put_up(router, address)
        code, out, err = await stopped_at(
            "gone", signal.SIGTERM, "replace", URL, URL, "--router", address, "--priority", "7", *with_key
        )
        assert (code, router.workers) == (130, []), err
        assert "k-worker" not in out
        assert any(line.startswith("left ") and "--worker-key-file" in line for line in err)

        kept.write_text(out)
        code, again, err = await run("wait", "--handle", str(kept))
        assert (code, router.workers) == (1, []), err
        assert "key" in err[-1]

        kept.write_text(again)
        code, _, err = await run("wait", "--handle", str(kept), *with_key)
        assert code == 0, err
        assert [worker.priority for worker in router.workers if worker.routable] == [7]


async def test_the_key_comes_from_a_file_and_a_wrong_one_exits_1_with_one_line(tmp_path: Path) -> None:
    key = tmp_path / "key"
    async with serve(fake(api_key="right")) as address:
        key.write_text("right\n")
        code, out, _ = await run("list", "--router", address, "--api-key-file", str(key))
        assert (code, out.split()[:2]) == (0, ["URL", "ID"])
        for wrong in ("wrong", ""):
            key.write_text(wrong)
            code, out, err = await run("add", URL, "--router", address, "--api-key-file", str(key))
            assert (code, out, len(err)) == (1 if wrong else 2, "", 1)
            assert "wrong" not in err[0]
            assert "key" in err[0]


async def test_an_unreachable_router_exits_1_with_one_line_that_says_nothing_was_submitted() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and doesn't listen
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        code, out, err = await run("add", URL, "--router", address, "--timeout", "1")
        assert (code, out, len(err)) == (1, "", 1)
        assert "nothing was submitted" in err[0]
        assert address in err[0]
        assert (await run("doctor", "--router", address, "--timeout", "1"))[0] == 1


@pytest.mark.parametrize(("arguments", "word"), WRONG_USAGE)
def test_wrong_usage_exits_2_with_one_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert word in shown.err


def test_the_handle_of_a_replacement_is_for_wait_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, key = tmp_path / "replacement.json", tmp_path / "key"
    kept.write_text(
        ReplacementHandle(
            router="http://r:1",
            old=RemovalHandle(router="http://r:1", url=URL),
            new=RegistrationHandle(router="http://r:1", spec=WorkerSpec(url=OTHER)),
        ).model_dump_json()
    )
    assert run_here(["remove", "--handle", str(kept), "--router", "http://r:1"]) == 2
    assert "`router-lifecycle wait` finishes it" in capsys.readouterr().err
    kept.write_text(RemovalHandle(router="http://r:1", url=URL).model_dump_json())
    key.write_text("k")
    assert run_here(["wait", "--handle", str(kept), "--worker-key-file", str(key)]) == 2
    assert "it submits nothing" in capsys.readouterr().err


async def test_a_bad_url_exits_2_as_a_process_too() -> None:
    code, out, err = await run("add", "10.0.0.1:30000", "--router", "http://r:1")
    assert (code, out, len(err)) == (2, "", 1)


async def test_doctor_says_what_each_router_speaks_and_that_nothing_was_left() -> None:
    for version, dialect, update in (
        ("0.2.0", "url", "can't update"),
        ("0.3.2", "uuid", "PUT"),
        (SMG, "smg", "PATCH"),
    ):
        async with serve(fake(version)) as address:
            code, out, _ = await run("doctor", "--router", address)
        assert code == 0, out
        lines = out.splitlines()
        assert lines[0] == f"router    {address}"
        assert lines[1].startswith(f"dialect   {dialect} (")
        assert update in out
        assert lines[-2:] == ["workers   0 listed, 0 routable", "leftovers none"]


async def test_doctor_names_spellings_failed_jobs_ghosts_and_what_to_do(tmp_path: Path) -> None:
    pending = "http://10.0.0.9:30000"
    router = fake("0.2.4", FakeEngine(URL), FakeEngine(pending, health=Health.LOADING))
    async with serve(router) as address:
        code, out, err = await run("add", URL, "--router", address, "--timeout", "40")
        assert code == 0, err
        async with httpx.AsyncClient(base_url=address, trust_env=False) as http:
            await http.post("/workers", json={"url": f"{URL}/"})
            await http.post("/workers", json={"url": pending})
        for _ in range(3_000):
            if len(router.workers) == 2:
                break
            await asyncio.sleep(0.01)
        gone = tmp_path / "gone.json"
        gone.write_text(RemovalHandle(router=address, url=URL, done=True).model_dump_json())
        code, out, err = await run("doctor", pending, "--router", address, "--handle", str(gone), "--json")
        summary, *found = map(json.loads, out.splitlines())
        assert (code, err) == (1, [])
        assert (summary["dialect"], summary["findings"]) == ("url", len(found))
        kinds = {(one["kind"], one["worker_url"]) for one in found}
        assert {("spellings", URL), ("ghost", URL), ("ghost", pending)} <= kinds
        assert all(one["advice"] and one["seen"] for one in found)


def test_version_answers_without_the_command_line_library_and_help_without_the_client() -> None:
    program = (
        "import sys; from router_lifecycle.__main__ import main; sys.argv = ['router-lifecycle', {!r}]; main();"
        "print(*sys.modules, file=sys.stderr)"
    )
    for flag, absent in (
        ("--version", {"cyclopts", "httpx", "pydantic"}),
        ("--help", {"uvicorn", "router_lifecycle.testing"}),
    ):
        ended = subprocess.run(
            [sys.executable, "-c", program.format(flag)],
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        )
        assert ended.stdout.strip()
        assert not absent & set(ended.stderr.split()), flag


async def test_a_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    async with serve(fake()) as address:
        process = await asyncio.create_subprocess_exec(
            COMMAND, "list", "--router", address, stdout=write_end, stderr=PIPE
        )
        os.close(write_end)
        async with asyncio.timeout(WAIT_SECONDS):
            _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")

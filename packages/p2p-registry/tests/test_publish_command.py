"""The command `publish`, as a process and as a function."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from publisher_peers import RecordingRegistry, address_of
from registry_bench import COMMAND

from p2p_registry.cli import run
from p2p_registry.cli.publish import load_of
from p2p_registry.wire import SourceStatus


async def started(*arguments: str) -> asyncio.subprocess.Process:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MX_", "MODEL_EXPRESS_"))}
    return await asyncio.create_subprocess_exec(
        COMMAND,
        "publish",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environ,
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_publish_keeps_a_source_alive_with_the_load_of_a_file_until_it_is_told_to_stop(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    load = tmp_path / "load"
    load.write_text("0.25\n")
    registry = RecordingRegistry()
    async with address_of(registry) as address:
        process = await started(
            *("m", "--registry", address, "--rank", "2", "--worker-id", "w1", "--json", "--heartbeat-seconds", "0.05"),
            *("--load-file", str(load), "--accelerator", "cuda", "--topology", "zone=a", "--topology", "rack=r"),
            *("--framework", "sglang", "--tensor-parallel-size", "8", "--extra", "layout_signature=l"),
        )
        try:
            await registry.wait_for(("READY", 0.25), ("READY", 0.25))
            load.unlink()
            await registry.wait_for(("READY", None), ("READY", None))
            process.send_signal(number)
            output, errors = await process.communicate()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    assert (process.returncode, errors.decode()) == (code, "")
    assert registry.told[-1] == ("STALE", None)
    (publication,) = registry.publications
    assert publication.identity.tensor_parallel_size == 8
    assert publication.identity.backend_framework == 2
    assert dict(publication.worker.topology) == {"zone": "a", "rack": "r"}
    assert publication.worker.WhichOneof("backend_metadata") is None
    assert publication.worker.status == SourceStatus.SOURCE_STATUS_INITIALIZING
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line["state"] for line in lines] == ["publishing", "ready", "stopped"]
    (summary,) = await registry.backend.summaries(None)
    assert lines[1] == {
        "schema": "p2p-registry.publish/1",
        "state": "ready",
        "reason": lines[1]["reason"],
        "mx_source_id": summary.key.source_id,
        "model_name": "m",
        "worker_id": "w1",
        "worker_rank": 2,
    }


async def test_publish_waits_for_a_registry_that_is_not_there_and_says_so() -> None:
    process = await started("m", "--registry", "127.0.0.1:1", "--worker-id", "w1")
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        process.terminate()
        rest, errors = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    assert line.startswith("unreachable  w1  UNAVAILABLE: ")
    assert rest.decode() == "stopped  w1  nothing was published\n"
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("publish", 2, "MODEL requires an argument"),
        (["publish", ""], 2, "model_name='' is not allowed"),
        ("publish m --rank -1", 2, "--rank -1 is not allowed: an integer from 0 to 4294967295 is"),
        (
            "publish m --heartbeat-seconds 90",
            2,
            "--heartbeat-seconds 90.0 is not allowed: more than 0 and less than 90",
        ),
        ("publish m --max-load-age-seconds 0", 2, "--max-load-age-seconds 0.0 is not allowed: more than 0 is"),
        ("publish m --framework tgi", 2, "--framework tgi is not allowed: unknown, vllm, sglang, trt_llm are"),
        ("publish m --source-type x", 2, "--source-type x is not allowed: weights, lora, "),
        ("publish m --topology rack", 2, '--topology "rack" is not allowed: KEY=VALUE is'),
        ("publish m --extra =1", 2, '--extra "=1" is not allowed: KEY=VALUE is'),
        ("publish m --tensor-parallel-size -1", 2, "--tensor-parallel-size -1 is not allowed"),
        ("publish m --registry nowhere", 2, "--registry nowhere is not HOST:PORT"),
        ("publish m --registry a:1 --token-file t", 2, "give --tls-ca-file"),
    ],
)
def test_what_cannot_be_published_is_one_line_that_names_it(
    arguments: str | list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments.split() if isinstance(arguments, str) else arguments) == code
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err


def test_a_file_without_a_new_number_is_no_load(tmp_path: Path) -> None:
    file = tmp_path / "load"
    provider = load_of(file, 30)
    assert provider() is None
    file.write_text("0.5")
    assert provider() == 0.5
    os.utime(file, (1, 1))
    assert provider() is None
    file.write_text("half")
    with pytest.raises(ValueError, match="half"):
        provider()

"""The simulated RL loop of docs/programs, with each shape of engine: with the gate no response is stale, without it the guard says so."""

import asyncio
import re
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "docs" / "programs" / "rl_loop.py"
WAIT_SECONDS = 55
SHAPES = ("servers", "actors", "processes")


async def trained(*arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", str(PROGRAM), "--steps", "1", "--requests", "60", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode()


async def test_a_recovered_engine_serves_no_stale_response_with_the_gate_and_does_without_it() -> None:
    # Beside each other: they wait for timers most of the time.
    red, *green = await asyncio.gather(trained("--no-gate"), *(trained("--engines-as", shape) for shape in SHAPES))
    for status, output in green:
        assert status == 0, output
        assert "4 routable, 120 served, 0 refused" in output
    status, output = red
    assert status == 1, output
    refused = re.search(
        r"refused: response of model 'actor' from engine (\w+): .* received weight_version 'default'", output
    )
    assert refused, output
    assert refused[1] == "e1"
    assert "step 1: lost e1" in output

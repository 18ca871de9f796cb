"""The simulated RL loop of docs/programs, with each shape of engine: with the gate no response is stale, without it the guard says so."""

import asyncio
import re

import pytest
from rl_program import trained

ARGUMENTS = ("--steps", "1", "--requests", "60")
SHAPES = ("servers", "actors", "processes")


# They mostly wait for timers; it is the start of four processes that a slow machine feels.
@pytest.mark.timeout(300)
async def test_a_recovered_engine_serves_no_stale_response_with_the_gate_and_does_without_it() -> None:
    # Beside each other: they wait for timers most of the time.
    red, *green = await asyncio.gather(
        trained(*ARGUMENTS, "--no-gate"), *(trained(*ARGUMENTS, "--engines-as", shape) for shape in SHAPES)
    )
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

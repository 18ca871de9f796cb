"""The simulated RL loop behind released routers: without the gate an engine serves before it has weights, with it none does.

The engines are simulated (docs/programs/rl_loop.py); nothing of the routers is.
"""

import asyncio
import re
from pathlib import Path

import pytest
from rl_program import trained
from sites import SMG, Flags, released

VERSIONS = ("0.2.4", "0.3.2", SMG)
# The first of a fresh machine waits for the wheel.
pytestmark = pytest.mark.timeout(600)


def check(version: str, red: tuple[int | None, str], greens: list[tuple[int | None, str]], recoveries: int) -> None:
    status, output = red
    assert status == 1, f"{version}:\n{output}"
    named = re.findall(r"refused: .* from engine (\w+): .* received weight_version 'default'; published \d+", output)
    assert named, f"{version}:\n{output}"
    assert set(named) <= set(re.findall(r"lost (\w+)", output))
    recovered = 0
    for status, output in greens:
        assert status == 0, f"{version}:\n{output}"
        served, refused = re.findall(r"(\d+) served, \d+ unanswered, (\d+) refused", output)[-1]
        assert int(served) > 0, output
        assert int(refused) == 0, output
        recovered += len(re.findall(r"^step \d+: lost", output, re.MULTILINE))
    assert recovered == recoveries


async def red_and_green(version: str, folder: Path, loops: int, steps: int) -> None:
    """Train without the gate, and with it in several loops; all beside each other, each with a router of its own."""
    async with released(version, folder) as site:
        assert site.told["strangers"] == []
        assert site.told["version"] == version.removeprefix("smg-")

        async def train(name: str, steps: int, *arguments: str) -> tuple[int | None, str]:
            place = await site.place(Flags(alone=name))
            options = ("--router-url", place.url, "--steps", str(steps), "--requests", "30")
            return await trained(*options, *arguments)

        red, *greens = await asyncio.gather(
            train("red", 2, "--no-gate"), *(train(f"green {n}", steps) for n in range(loops))
        )
    check(version, red, greens, loops * steps)


async def test_only_without_the_gate_a_released_router_sends_requests_to_an_unsynchronised_engine(
    tmp_path: Path,
) -> None:
    # The releases beside each other: SMG's drain of 5 s at each removal is most of the time.
    async with asyncio.TaskGroup() as group:
        for version in VERSIONS:
            group.create_task(red_and_green(version, tmp_path, loops=4, steps=5))


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("version", VERSIONS)
async def test_no_unsynchronised_engine_serves_in_many_recoveries(version: str, tmp_path: Path) -> None:
    await red_and_green(version, tmp_path, loops=4, steps=50)

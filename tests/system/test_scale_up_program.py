"""docs/programs/scale_up.py runs as docs/p2p-system.md says, and what that page shows of a run is what the program prints and draws."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scale_up import DECODE, POLICIES, PREFILL, Outcome, plot

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "p2p-system.md").read_text()
WAVE = re.compile(r"^(\w+) +([48] decode engines) +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+)$", re.MULTILINE)


def bars(svg: str) -> list[str]:
    """Return what the bars of a picture are titled, in their order."""
    return re.findall("<title>(.*?)</title>", svg)


@pytest.mark.timeout(300)
def test_the_program_runs_within_its_bounds_and_draws_what_it_counted(tmp_path: Path) -> None:
    picture = tmp_path / "scale-up.svg"
    command = [sys.executable, str(ROOT / "docs" / "programs" / "scale_up.py"), "--pullers", "4"]
    ran = subprocess.run(
        [*command, "--policies", "spread", "--svg", str(picture)],
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    waves = WAVE.findall(ran.stdout)
    assert [(policy, title) for policy, title, *_ in waves] == [("spread", f"{n} decode engines") for n in (4, 8)]
    assert all(int(busy) <= int(bound) and int(one) <= int(most) for _, _, busy, bound, one, most, _ in waves)
    titles = bars(picture.read_text())
    assert [title.partition(":")[0] for title in titles] == [*PREFILL, *DECODE[:4], *PREFILL, *DECODE]
    assert sum(int(title.partition(": ")[2]) for title in titles) == 4
    # Elsewhere than on a terminal nothing is drawn over.
    assert "\x1b" not in ran.stdout


def test_the_page_shows_a_run_and_its_picture() -> None:
    waves = WAVE.findall(PAGE)
    assert [policy for policy, *_ in waves] == [policy for policy in POLICIES for _ in range(2)]
    titles = bars((ROOT / "docs" / "scale-up.svg").read_text())
    for policy, title, busy, bound, one, most, _ in waves:
        decode = int(title[0])
        mine, titles = titles[: 8 + decode], titles[8 + decode :]
        counts = [int(text.partition(": ")[2]) for text in mine]
        assert (sum(counts[:8]), max(counts[8:])) == (int(busy), int(one)), policy
        assert sum(counts[:8]) <= int(bound)
        assert max(counts[8:]) <= int(most)


def test_a_wave_that_breaks_a_bound_is_told() -> None:
    pulls = dict.fromkeys((*PREFILL, *DECODE), 2)
    assert Outcome("spread", "8 decode engines", pulls, busy=(9, 9), one=(2, 2), seconds=1.0).within
    assert not Outcome("spread", "8 decode engines", pulls, busy=(10, 9), one=(2, 2), seconds=1.0).within
    outcome = Outcome("spread", "8 decode engines", pulls, busy=(9, 9), one=(3, 2), seconds=1.0)
    assert not outcome.within
    assert bars(plot([outcome]))[-1] == "decode-7: 2"

"""What the README says of a source's load: its program runs, and no metric is left out."""

import re
import subprocess
import sys
from pathlib import Path

from nic_metrics import DEFAULT_LOAD_METRICS

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_program_that_makes_a_provider_runs() -> None:
    programs = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (program,) = [it for it in programs if "make_source_load_provider" in it]
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    load, nic = ended.stdout.splitlines()
    assert load == "None"
    assert nic.startswith("nic None ")


def test_every_metric_is_named() -> None:
    assert [metric.name for metric in DEFAULT_LOAD_METRICS if f"`{metric.name}`" not in README] == []

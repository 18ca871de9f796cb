"""What the README says of choosing a NIC: its program runs, and nothing that it should name is left out."""

import re
import subprocess
import sys
from pathlib import Path

from nic_metrics import AffinityPolicy, ChoiceOrigin, NoNicReason

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_program_that_chooses_a_nic_runs() -> None:
    (program,) = [
        it for it in re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE) if "choose_" in it
    ]
    # Without any pin, so that the environment of whoever runs the tests makes no difference.
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True, env={}
    )
    assert ended.stdout == f"() None transport_chooses {NOTHING_PINS}\nNone\n"


NOTHING_PINS = "neither MX_RDMA_NIC_PIN nor UCX_NET_DEVICES pins: UCX chooses"


def test_every_reason_and_policy_is_named() -> None:
    missing = [name for name in (*NoNicReason, *AffinityPolicy) if f"`{name}`" not in README]
    assert missing == []
    assert f"{ChoiceOrigin.BUSIEST_OF}=" in README

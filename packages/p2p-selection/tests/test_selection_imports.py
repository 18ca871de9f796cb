"""What importing the package costs, and what it promises."""

import subprocess
import sys

import pytest

import p2p_selection

HEAVY = ("argparse", "asyncio", "cyclopts", "json", "logging", "pathlib", "prometheus_client", "importlib.metadata")


def test_importing_brings_nothing_that_ranking_does_not_need() -> None:
    program = f"import sys, p2p_selection; print([name for name in {HEAVY} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize("name", p2p_selection.__all__)
def test_every_name_that_is_promised_is_there(name: str) -> None:
    assert getattr(p2p_selection, name) is not None


def test_a_name_that_is_not_promised_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'p2p_selection' has no attribute 'Nothing'"):
        _ = p2p_selection.Nothing

"""What importing the package costs, and what it promises."""

import subprocess
import sys

import pytest

import p2p_registry

HEAVY = ("asyncio", "cyclopts", "google.protobuf", "grpc", "json", "logging", "prometheus_client", "redis")


def test_importing_waits_for_nothing_that_is_not_used() -> None:
    program = f"import sys, p2p_registry; print([name for name in {HEAVY} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize("name", p2p_registry.__all__)
def test_every_name_that_the_registry_promises_is_there(name: str) -> None:
    assert getattr(p2p_registry, name) is not None


def test_a_name_that_the_registry_does_not_promise_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'p2p_registry' has no attribute 'Nothing'"):
        _ = p2p_registry.Nothing

"""The generator notices when the committed code and the contract part."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROTO = "packages/loadmonitor-proto/proto/sglang/router/loadmonitor/v1/load_monitor.proto"
V1 = "packages/loadmonitor-proto/src/loadmonitor_proto/v1"
P2P_PROTO = "packages/p2p-registry/proto/model_express/p2p/registry.proto"
P2P = "packages/p2p-registry/src/p2p_registry/wire"
GENERATED = (
    *(f"{V1}/load_monitor_pb2.{suffix}" for suffix in ("py", "pyi")),
    *(f"{P2P}/registry_pb2.{suffix}" for suffix in ("py", "pyi")),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the generator, its sources and its output."""
    for file in ("scripts/gen_proto.py", PROTO, P2P_PROTO, *GENERATED):
        target = tmp_path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target)
    return tmp_path


def generate(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the copied generator."""
    script = str(project / "scripts" / "gen_proto.py")
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)


# The first run fetches the compiler.
@pytest.mark.timeout(300)
def test_a_changed_contract_differs_from_the_committed_code_until_it_is_generated_again(project: Path) -> None:
    assert generate(project, "--check").returncode == 0

    proto = project / PROTO
    proto.write_text(proto.read_text().replace("uint32 active_routers = 102", "uint32 active_routers = 103"))
    drifted = generate(project, "--check")
    assert drifted.returncode == 1
    assert "load_monitor_pb2.py differs" in drifted.stdout

    assert generate(project).returncode == 0
    assert generate(project, "--check").returncode == 0


@pytest.mark.timeout(300)
def test_a_stub_edited_by_hand_is_noticed(project: Path) -> None:
    stub = project / V1 / "load_monitor_pb2.pyi"
    stub.write_text(stub.read_text().replace("dp_rank:", "rank:"))
    drifted = generate(project, "--check")
    assert drifted.returncode == 1
    assert "load_monitor_pb2.pyi differs" in drifted.stdout

"""loadmonitor_proto beside another copy of the contract in the default pool, on old and new protobuf runtimes.

Every cell is a fresh interpreter in an environment that holds that protobuf, that grpcio and this package only.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from loadmonitor_proto import DESCRIPTOR

PACKAGE = Path(__file__).parents[2] / "packages" / "loadmonitor-proto"
CHILD = Path(__file__).with_name("pool_isolation_child.py")
UV = os.environ.get("UV", "uv")


class Runtime(NamedTuple):
    """A pair of runtimes: the floors that the package declares, a middle, the newest."""

    protobuf: str
    grpcio: str


RUNTIMES = (
    Runtime("5.29.5", "1.71.0" if sys.version_info < (3, 14) else "1.75.1"),
    Runtime("6.33.6", "1.76.0"),
    Runtime("7.36.2", "1.85.3"),
)


def contract() -> FileDescriptorProto:
    """Return this package's own file, to be changed into another copy."""
    return FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb)


def identical() -> FileDescriptorProto:
    """SGLang at the same revision."""
    return contract()


def field_added() -> FileDescriptorProto:
    """SGLang ahead of us."""
    file = contract()
    rank = next(message for message in file.message_type if message.name == "RankLoad")
    rank.field.add(name="num_retracted_reqs", number=15, type=FieldDescriptorProto.TYPE_INT64, label=1)
    return file


def same_file_other_content() -> FileDescriptorProto:
    """An unrelated contract that happens to use our path and package."""
    file = FileDescriptorProto(name=DESCRIPTOR.name, package=DESCRIPTOR.package, syntax="proto3")
    report = file.message_type.add(name="LoadReport")
    report.field.add(name="payload", number=1, type=FieldDescriptorProto.TYPE_BYTES, label=1)
    return file


def other_path_same_symbols() -> FileDescriptorProto:
    """The contract compiled from another folder."""
    file = contract()
    file.name = "load_monitor.proto"
    return file


def other_package_same_file() -> FileDescriptorProto:
    """The contract under an earlier package name."""
    text = text_format.MessageToString(contract()).replace(DESCRIPTOR.package, "model_gateway.loadmonitor.v1")
    return text_format.Parse(text, FileDescriptorProto())


SAME_WIRE = (identical, field_added, other_path_same_symbols, other_package_same_file)
CELLS = [
    *[pytest.param("bytes", copy, id=copy.__name__) for copy in SAME_WIRE],
    pytest.param("messages", same_file_other_content, id="same_file_other_content"),
    pytest.param("stream", field_added, id="live_stream"),
    pytest.param("conflict", field_added, id="control_one_pool"),
]


@pytest.fixture(scope="module", params=RUNTIMES, ids=lambda runtime: f"protobuf-{runtime.protobuf}")
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """One pair of versions."""
    chosen: Runtime = request.param
    return chosen


@pytest.fixture(scope="module")
def interpreter(runtime: Runtime, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment that holds the package and the two runtimes, made once for all its cells."""
    home = tmp_path_factory.mktemp("runtime") / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, home], check=True)
    python = home / "bin" / "python"
    versions = (f"protobuf=={runtime.protobuf}", f"grpcio=={runtime.grpcio}")
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--python", python, *versions, "--editable", f"{PACKAGE}[grpc]"], check=True
    )
    return python


# The first cell of a runtime fetches its environment.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("implementation", ["upb", "python"])
@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize(("check", "make_copy"), CELLS)
def test_the_contract_lives_beside_another_copy(
    runtime: Runtime,
    interpreter: Path,
    implementation: str,
    order: str,
    check: str,
    make_copy: Callable[[], FileDescriptorProto],
    tmp_path: Path,
) -> None:
    file = tmp_path / "other_copy.binpb"
    file.write_bytes(make_copy().SerializeToString(deterministic=True))
    child = subprocess.run(
        [interpreter, "-W", "error", CHILD, check, order, file],
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == {
        "protobuf": runtime.protobuf,
        "implementation": implementation,
        "grpcio": runtime.grpcio if check == "stream" else None,
    }

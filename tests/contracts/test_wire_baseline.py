"""The published v1 contract: the baseline holds all of it, and buf notices when ours leaves it."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from loadmonitor_proto import DESCRIPTOR, RankLoad

PACKAGE = Path(__file__).parents[2] / "packages" / "loadmonitor-proto"
PROTO = Path("proto", DESCRIPTOR.name)
BUF = Path(sysconfig.get_path("scripts"), "buf")


def buf(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run buf in a folder that holds a buf.yaml."""
    return subprocess.run([BUF, *arguments], cwd=folder, capture_output=True, check=False)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the contract and its baseline, to be broken."""
    for folder in ("proto", "baseline"):
        shutil.copytree(PACKAGE / folder, tmp_path / folder)
    shutil.copy(PACKAGE / "buf.yaml", tmp_path)
    return tmp_path


def contract_lines(file: FileDescriptorProto) -> set[str]:
    """Write each field below 100 and each value of its enums as a line that holds all of it but its comments."""
    lines = set()
    for message in file.message_type:
        for field in message.field:
            if field.number < 100:
                group = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
                field.ClearField("oneof_index")
                lines.add(f"{message.name} {group} {field}")
    for enum in file.enum_type:
        lines |= {f"{enum.name} {value}" for value in enum.value}
    return lines | {f"{file.package} {service}" for service in file.service}


def test_the_baseline_is_the_part_of_the_contract_below_100() -> None:
    built = buf("build", "baseline", "--output", "-", folder=PACKAGE)
    (baseline,) = FileDescriptorSet.FromString(built.stdout).file
    ours = contract_lines(FileDescriptorProto.FromString(DESCRIPTOR.serialized_pb))
    extension_enum = {line for line in ours if line.startswith("WorkerState ")}
    assert contract_lines(baseline) == ours - extension_enum
    assert all(field.number < 100 for message in baseline.message_type for field in message.field)


def test_a_peer_of_the_published_contract_skips_the_names_of_unknown_fields_and_reads_zero() -> None:
    pool = descriptor_pool.DescriptorPool()
    built = buf("build", "baseline", "--output", "-", folder=PACKAGE)
    (baseline,) = FileDescriptorSet.FromString(built.stdout).file
    pool.AddSerializedFile(baseline.SerializeToString())
    published = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{baseline.package}.RankLoad"))
    values = {field.name: 1 for field in published.DESCRIPTOR.fields}
    assert len(values) == 14
    known = RankLoad(**values)  # type: ignore[arg-type] # 1 is a value of every field
    assert known.SerializeToString() == published(**values).SerializeToString()
    known.ClearField("num_waiting_uncached_tokens")
    known.unknown_field_numbers.append(5)
    received = published.FromString(known.SerializeToString())
    assert {name for name in values if getattr(received, name) != 1} == {"num_waiting_uncached_tokens"}


def test_the_contract_keeps_the_baseline(package: Path) -> None:
    compared = buf("breaking", "--against", "baseline", folder=package)
    assert compared.returncode == 0, compared.stdout


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        pytest.param("dp_rank = 1;", "dp_rank = 15;", 'field "1" with name "dp_rank"', id="renumbered"),
        pytest.param("int64 num_running_reqs", "int32 num_running_reqs", '"int64" to "int32"', id="type"),
        pytest.param("string router_id", "string router_name", '"router_id" to "router_name"', id="renamed"),
        pytest.param("optional string model", "string model", "explicit presence", id="presence"),
        pytest.param("repeated RankLoad", "RankLoad", '"ranks"', id="cardinality"),
        pytest.param("STATUS_STALE = 2;", "STATUS_STALE = 4;", 'enum value "2"', id="enum"),
        pytest.param("rpc Monitor(", "rpc Watch(", '"Monitor"', id="method"),
        pytest.param("package sglang.router", "package router", "package", id="package"),
    ],
)
def test_buf_names_a_change_that_breaks_the_published_contract(
    package: Path, before: str, after: str, named: str
) -> None:
    proto = package / PROTO
    text = proto.read_text()
    assert text.count(before) == 1
    proto.write_text(text.replace(before, after))
    compared = buf("breaking", "--against", "baseline", folder=package)
    assert compared.returncode == 100
    assert named.lower() in compared.stdout.decode().lower()


def test_a_further_extension_is_no_break(package: Path) -> None:
    proto = package / PROTO
    text = proto.read_text()
    assert text.count("int32 dp_rank = 1;") == 1
    proto.write_text(text.replace("int32 dp_rank = 1;", "int32 dp_rank = 1;\n  optional int64 extra = 199;"))
    compared = buf("breaking", "--against", "baseline", folder=package)
    assert compared.returncode == 0, compared.stdout


def test_the_contract_is_written_in_the_standard_style() -> None:
    linted = buf("lint", folder=PACKAGE)
    assert linted.returncode == 0, linted.stdout

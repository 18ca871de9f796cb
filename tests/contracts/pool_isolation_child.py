"""One cell of the pool isolation matrix, run in a fresh interpreter by test_pool_isolation.py.

Arguments: the cell's check, `before` or `after` (when the other copy is loaded, seen from loadmonitor_proto), and the
file of the other copy's serialized descriptor. Prints one JSON object: what ran, and in which versions.
"""

import asyncio
import copy
import importlib
import json
import pickle
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.protobuf import __version__ as protobuf_version
from google.protobuf import descriptor_pool, json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.internal import api_implementation, builder


def load_other_copy(serialized: bytes) -> SimpleNamespace:
    """Do what protoc's generated module does when it is imported: register in the default pool, build the classes."""
    names: dict[str, Any] = {}
    file = descriptor_pool.Default().AddSerializedFile(serialized)
    builder.BuildMessageAndEnumDescriptors(file, names)
    builder.BuildTopDescriptorsAndMessages(file, "other_copy_pb2", names)
    return SimpleNamespace(DESCRIPTOR=file, **names)


def fields(file: Any) -> dict[str, list[tuple[int, str]]]:
    """List what each message of a file really holds, by its descriptors and not by the bytes they came from."""
    messages = file.message_types_by_name.items()
    return {name: [(field.number, field.name) for field in message.fields] for name, message in messages}


def fields_in(serialized: bytes) -> dict[str, list[tuple[int, str]]]:
    """List what each message of a serialized file should hold."""
    file = FileDescriptorProto.FromString(serialized)
    return {message.name: [(field.number, field.name) for field in message.field] for message in file.message_type}


def fill(cls: Any) -> Any:
    """Build a report that uses v1 fields and extensions."""
    report = cls(source_instance_id="a", sequence_id=7, status=2, max_snapshot_age_ms=0)
    report.ranks.add(dp_rank=1, num_used_tokens=2**40, generated_tokens_total=9)
    return report


def check_messages(ours: Any, other: Any, serialized: bytes) -> None:
    """Both copies keep their own content, and ours does all that a message does."""
    assert fields(other.DESCRIPTOR) == fields_in(serialized)
    assert fields(ours.DESCRIPTOR) == fields_in(ours.DESCRIPTOR.serialized_pb)
    assert ours.DESCRIPTOR.pool is ours.POOL is not descriptor_pool.Default()
    report = fill(ours.LoadReport)
    assert ours.LoadReport.FromString(report.SerializeToString()) == report
    assert copy.deepcopy(report) == report
    assert type(pickle.loads(pickle.dumps(report))) is ours.LoadReport  # noqa: S301
    assert json_format.Parse(json_format.MessageToJson(report), ours.LoadReport()) == report
    assert report.HasField("max_snapshot_age_ms")


def check_bytes_cross(ours: Any, other: Any) -> None:
    """Two distinct classes of one wire: bytes cross both ways, objects don't."""
    assert other.LoadReport is not ours.LoadReport
    report = fill(ours.LoadReport)
    assert other.LoadReport.FromString(report.SerializeToString()) == fill(other.LoadReport)
    assert ours.LoadReport.FromString(fill(other.LoadReport).SerializeToString()) == report
    try:
        other.LoadReport().CopyFrom(report)
    except TypeError:
        return
    raise AssertionError("CopyFrom between the copies should be refused")


def check_conflict(ours: Any) -> None:
    """The control: in one pool the same two files do not live together."""
    try:
        shared = load_other_copy(ours.DESCRIPTOR.serialized_pb)
    except TypeError:
        return  # refused at import
    assert fields(shared.DESCRIPTOR) != fields(ours.DESCRIPTOR)  # or the first silently stands in for the second


async def check_stream(ours: Any, other: Any) -> None:
    """A Router that speaks the other copy is served by a Worker that speaks ours, in one process."""
    grpc = importlib.import_module("grpc.aio")
    service = importlib.import_module("loadmonitor_proto.service")

    class Worker:
        async def Monitor(self, request_iterator: AsyncIterator[Any], context: Any) -> None:  # noqa: N802
            async for frame in request_iterator:
                assert frame.register.router_id == "r"
                await context.write(ours.WorkerFrame(report=fill(ours.LoadReport)))

    server = grpc.server()
    service.add_load_monitor_servicer(Worker(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        theirs = channel.stream_stream(
            service.MONITOR_METHOD, other.RouterFrame.SerializeToString, other.WorkerFrame.FromString
        )
        for names, open_stream in ((ours, service.LoadMonitorStub(channel).Monitor), (other, theirs)):
            call = open_stream()
            await call.write(names.RouterFrame(register=names.RegisterRequest(router_id="r")))
            await call.done_writing()
            assert [frame.report async for frame in call] == [fill(names.LoadReport)]
    await server.stop(None)


def main(check: str, order: str, file: str) -> None:
    """Load both copies in the order asked for, run the check, print what ran."""
    serialized = Path(file).read_bytes()
    if order == "before":
        other = load_other_copy(serialized)
        ours: Any = importlib.import_module("loadmonitor_proto")
    else:
        ours = importlib.import_module("loadmonitor_proto")
        other = load_other_copy(serialized)
    check_messages(ours, other, serialized)
    if check == "bytes":
        check_bytes_cross(ours, other)
    elif check == "conflict":
        check_conflict(ours)
    elif check == "stream":
        asyncio.run(check_stream(ours, other))
    grpc = sys.modules.get("grpc")
    ran = {
        "protobuf": protobuf_version,
        "implementation": api_implementation.Type(),
        "grpcio": grpc.__version__ if grpc else None,
    }
    sys.stdout.write(json.dumps(ran))


if __name__ == "__main__":
    main(*sys.argv[1:])

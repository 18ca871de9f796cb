"""modelexpress' own client, publisher and puller at the registry whose address is the argument.

Runs in the environment of the released wheel, after the preamble of `modelexpress_wheel.py`. The first line says what it runs; then follow pairs of a step and what it found, each a
line of JSON. Where a step is `lose`, it waits for a line from the test, which has made the registry lose everything by then.
"""

import importlib
import json
import math
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

WAIT_SECONDS = 20
BEAT_SECONDS = 0.05

say_what_runs: Any = globals()["say_what_runs"]
pb2: Any = importlib.import_module("modelexpress.p2p_pb2")
client_module: Any = importlib.import_module("modelexpress.client")
publisher_module: Any = importlib.import_module("modelexpress.metadata.publisher")
publish_module: Any = importlib.import_module("modelexpress.metadata.publish")
source_id_module: Any = importlib.import_module("modelexpress.metadata.source_id")
rdma: Any = importlib.import_module("modelexpress.load_strategy.rdma_strategy")
selection: Any = importlib.import_module("modelexpress.source_selection")
MODULES = (pb2, client_module, publisher_module, publish_module, source_id_module, rdma, selection)

client: Any = client_module.MxClient(sys.argv[1])


def tell(step: str, found: object) -> None:
    sys.stdout.write(json.dumps([step, found]) + "\n")
    sys.stdout.flush()


def identity(model: str) -> Any:
    return pb2.SourceIdentity(
        model_name=model,
        mx_version="0.7.0",
        backend_framework=pb2.BACKEND_FRAMEWORK_VLLM,
        tensor_parallel_size=8,
        dtype="bfloat16",
    )


def worker(rank: int = 0) -> Any:
    tensor = pb2.TensorDescriptor(name="layer", addr=2**63, size=7, dtype="bfloat16")
    return pb2.WorkerMetadata(
        worker_rank=rank,
        nixl_metadata=b"\x00agent\xff",
        accelerator="cuda",
        topology={"rack": "r1"},
        tensor_source=pb2.TensorSourceMetadata(tensors=[tensor]),
    )


def publish(model: str, worker_id: str, rank: int = 0) -> str:
    source_id: str = client.publish_metadata(identity(model), worker(rank), worker_id)
    return source_id


def beat(source_id: str, worker_id: str, load: float | None) -> bool:
    done: bool = client.update_status(source_id, worker_id, 0, pb2.SOURCE_STATUS_READY, load)
    return done


def ready(model: str) -> dict[str, float | None]:
    """Return the READY sources of a model and their loads."""
    listed = client.list_sources(identity(model), pb2.SOURCE_STATUS_READY).instances
    return {each.worker_id: round(each.source_load, 6) if each.HasField("source_load") else None for each in listed}


def until(found: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    """Look until what is found is what is wanted, and return it; what was found last where that takes too long."""
    end = time.monotonic() + WAIT_SECONDS
    while not wanted(value := found()) and time.monotonic() < end:
        time.sleep(BEAT_SECONDS)
    return value


def our_messages() -> None:
    """Read its messages by ours, in the one process that has both."""
    ours: Any = importlib.import_module("p2p_registry.wire")
    for sent in (identity("m"), worker(), pb2.UpdateStatusRequest(source_load=0.0), pb2.UpdateStatusRequest()):
        content = sent.SerializeToString()
        kind = getattr(ours, type(sent).__name__)
        assert kind is not type(sent)
        assert kind.FromString(content).SerializeToString() == content
    tell("our messages", [kind.FromString(b"").HasField("source_load"), ours.POOL is not pb2.DESCRIPTOR.pool])


def plain_calls() -> None:
    source_id = publish("plain", "a")
    tell("published", [source_id, source_id_module.compute_mx_source_id(identity("plain"))])
    tell("before the first heartbeat", ready("plain"))
    for worker_id in ("b", "c"):
        publish("plain", worker_id)
    tell("heartbeats", [beat(source_id, "a", 0.73), beat(source_id, "b", None), beat(source_id, "c", 0.0)])
    tell("listed", ready("plain"))
    beat(source_id, "a", None)
    tell("cleared", ready("plain"))
    beat(source_id, "a", math.inf)
    tell("passed through", ready("plain")["a"] == math.inf)
    got = client.get_metadata(source_id, "a")
    tell("got", [got.found, got.worker.tensor_source == worker().tensor_source, got.worker.nixl_metadata.hex()])
    tell("got identity", [got.identity == identity("plain"), dict(got.worker.topology), got.worker_id])
    tell("unknown worker", [client.get_metadata(source_id, "nobody").found, beat(source_id, "nobody", 0.5)])
    tell("unknown source", [client.get_metadata("0" * 16, "a").found, ready("nothing")])
    try:
        client.publish_metadata(pb2.SourceIdentity(), worker(), "a")
    except RuntimeError as error:
        tell("refused", str(error))


@contextmanager
def publishing(model: str, provider: Callable[[], float | None], published: list[str]) -> Iterator[Any]:
    def publish_fn() -> str:
        published.append(publish(model, "w"))
        return published[-1]

    thread = publisher_module.PublisherThread(
        client,
        worker_id="w",
        worker_rank=0,
        publish_fn=publish_fn,
        interval_secs=BEAT_SECONDS,
        source_load_provider=provider,
    )
    thread.start()
    yield thread
    thread.stop()


def its_publisher() -> None:
    load: list[float | None] = [0.73]

    def provider() -> float | None:
        value = load[0]
        if value == -1:
            raise OSError("no counters")
        return value

    published: list[str] = []
    with publishing("beating", provider, published):
        tell("publisher", until(lambda: ready("beating"), lambda found: found == {"w": 0.73}))
        for name, value, shown in (("zero", 0.0, 0.0), ("none", None, None), ("raises", -1, None)):
            load[0] = 0.5
            until(lambda: ready("beating"), lambda found: found == {"w": 0.5})
            load[0] = value
            tell(
                f"publisher {name}",
                until(lambda: ready("beating"), lambda found, shown=shown: found == {"w": shown}),  # type: ignore[misc]
            )
        tell("lose", None)
        sys.stdin.readline()
        again = until(lambda: [len(published), ready("beating")], lambda found: found == [2, {"w": None}])
        tell("published again", again)
    tell("stopped", [ready("beating"), client.get_metadata(published[0], "w").worker.status])


def its_whole_path() -> None:
    manager = types.SimpleNamespace(
        nixl_metadata=b"agent", agent_name="n", is_healthy=lambda: True, data_plane_error=None
    )
    publish_module.publish_metadata_and_ready(client, manager, {}, 0, 0, identity("whole"), "whole-1")
    found = until(lambda: ready("whole"), bool)
    listed = client.list_sources(identity("whole"), None).instances
    tell("whole path", [found, client.get_metadata(listed[0].mx_source_id, "whole-1").worker.nixl_metadata.decode()])
    publish_module._heartbeat_threads[0].stop()
    tell("whole path stopped", ready("whole"))


def its_selector() -> None:
    """Rank what the registry lists by the wheel's own policy, through its own puller."""
    loads = {f"w{number}": number / 7 if number else None for number in range(8)}
    for number, (worker_id, load) in enumerate(loads.items()):
        source_id = publish("ranked", worker_id)
        beat(source_id, worker_id, load)
        client.publish_metadata(identity("ranked"), worker(1), f"other-{number}")
    context = types.SimpleNamespace(
        identity=identity("ranked"),
        worker_id="me",
        worker_rank=0,
        global_rank=0,
        accelerator_backend=types.SimpleNamespace(name="cuda"),
        mx_client=client,
    )
    ranked = [each.worker_id for each in rdma.RdmaStrategy()._find_source_instances(context)]
    made = [
        pb2.SourceInstanceRef(mx_source_id=source_id, worker_id=worker_id, source_load=load)
        for worker_id, load in loads.items()
    ]
    policy = selection.get_selector("load_aware")
    tell(
        "ranked", [selection.configured_policy_label(), ranked, [ref.worker_id for ref in policy.order(made, context)]]
    )


say_what_runs(*MODULES)
our_messages()
plain_calls()
its_publisher()
its_whole_path()
its_selector()
client.close()

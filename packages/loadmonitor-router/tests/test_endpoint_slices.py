"""From EndpointSlices to Workers."""

import pytest

from loadmonitor_router.discovery import EndpointSlice, SliceEndpoint, workers_of_slices
from loadmonitor_router.errors import WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget

PORTS = {"http": 30_000, "lm-grpc": 50_061}


def found(*slices: EndpointSlice) -> tuple[WorkerTarget, ...]:
    return workers_of_slices(slices, worker_port_name="http", reporter_port=7)


def one(address: str = "10.0.0.1", **conditions: bool | None) -> tuple[SliceEndpoint, ...]:
    return (SliceEndpoint(address=address, pod_uid="uid-1", **conditions),)


@pytest.mark.parametrize(
    ("ready", "terminating", "counts"),
    [
        (True, False, True),
        (None, None, True),
        (True, None, True),
        (False, False, False),
        (False, True, False),
        (True, True, False),  # of a Service that publishes pods that aren't ready
        (None, True, False),
    ],
)
def test_an_endpoint_counts_when_ready_and_not_terminating(
    ready: bool | None, terminating: bool | None, counts: bool
) -> None:
    endpoints = one(ready=ready, terminating=terminating)
    assert bool(found(EndpointSlice(name="a", ports=PORTS, endpoints=endpoints))) is counts


def test_the_reporters_port_comes_from_the_slice_by_its_name() -> None:
    (target,) = found(EndpointSlice(name="a", ports={"http": 1, "lm-grpc": 2}, endpoints=one()))
    assert target == WorkerTarget(url="http://10.0.0.1:1", reporter="10.0.0.1:2")
    (target,) = found(EndpointSlice(name="a", ports={"http": 1}, endpoints=one()))
    assert target.reporter == "10.0.0.1:7"


@pytest.mark.parametrize("ports", [{"": 30_000}, {"serving": 30_000, "lm-grpc": 50_061}])
def test_a_single_port_beside_the_reporters_may_have_any_name(ports: dict[str, int]) -> None:
    assert found(EndpointSlice(name="a", ports=ports, endpoints=one()))[0].url == "http://10.0.0.1:30000"


@pytest.mark.parametrize("ports", [{}, {"lm-grpc": 1}, {"a": 1, "b": 2}])
def test_a_worker_port_is_not_guessed(ports: dict[str, int]) -> None:
    with pytest.raises(WorkerListError, match="one named 'http' is needed"):
        found(EndpointSlice(name="a", ports=ports, endpoints=one()))


def test_a_pod_in_several_slices_is_one_worker_with_the_ports_of_all() -> None:
    http = EndpointSlice(name="a", ports={"http": 30_000}, endpoints=one())
    reporter = EndpointSlice(name="b", ports={"lm-grpc": 50_061}, endpoints=one())
    again = EndpointSlice(name="c", ports={"http": 30_000}, endpoints=one())
    assert found(http, reporter, again) == (WorkerTarget(url="http://10.0.0.1:30000", reporter="10.0.0.1:50061"),)


def test_of_both_kinds_of_addresses_of_a_pod_the_ipv4_one_is_taken() -> None:
    new = EndpointSlice(name="a", is_ipv6=True, ports=PORTS, endpoints=one("2001:db8::1"))
    old = EndpointSlice(name="b", ports=PORTS, endpoints=one())
    assert [target.url for target in found(new, old)] == ["http://10.0.0.1:30000"]
    assert [target.url for target in found(new)] == ["http://[2001:db8::1]:30000"]


@pytest.mark.parametrize(
    ("role", "worker_type"),
    [("prefill", WorkerType.PREFILL), ("decode", WorkerType.DECODE), ("both", WorkerType.REGULAR)],
)
def test_the_role_label_tells_the_worker_type(role: str, worker_type: WorkerType) -> None:
    labelled = EndpointSlice(name="a", labels={"llm-d.ai/role": role}, ports=PORTS, endpoints=one())
    assert found(labelled)[0].worker_type is worker_type


def test_a_role_that_is_none_is_named() -> None:
    labelled = EndpointSlice(name="a", labels={"llm-d.ai/role": "Prefill"}, ports=PORTS, endpoints=one())
    with pytest.raises(WorkerListError, match=r"label llm-d.ai/role='Prefill' is not allowed"):
        found(labelled)

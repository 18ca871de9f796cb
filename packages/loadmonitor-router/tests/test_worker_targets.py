"""From a worker's URL to its reporter, and a set in which each Worker is there once."""

import pytest

from loadmonitor_router.discovery import base_url, reporter_endpoint, target_set, worker_target
from loadmonitor_router.discovery.targets import target_of
from loadmonitor_router.errors import ConfigError, WorkerListError
from loadmonitor_router.reports import WorkerType
from loadmonitor_router.snapshot import WorkerTarget


@pytest.mark.parametrize(
    ("url", "reporter"),
    [
        ("http://10.0.0.1:30000", "10.0.0.1:50061"),
        ("https://Worker-0.Example:30000/v1/", "worker-0.example:50061"),
        ("grpc://worker-0:20000", "worker-0:50061"),
        ("grpcs://worker-0", "worker-0:50061"),
        ("http://[2001:DB8::0001]:30000", "[2001:db8::1]:50061"),
        ("http://[::1]", "[::1]:50061"),
        ("http://10.0.0.1:30000@3", "10.0.0.1:50061"),
        ("http://[::1]:30000@15", "[::1]:50061"),
        ("http://user@10.0.0.1:30000", "10.0.0.1:50061"),
        ("http://user:secret@10.0.0.1:30000@0", "10.0.0.1:50061"),
    ],
)
def test_a_reporter_listens_on_its_workers_host(url: str, reporter: str) -> None:
    assert reporter_endpoint(url, 50_061) == reporter


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("10.0.0.1:30000", "the scheme is missing"),
        ("worker", "the scheme is missing"),
        ("", "the scheme is missing"),
        ("ftp://10.0.0.1", "the scheme is 'ftp'"),
        ("ftp://10.0.0.1", "it must be one of http://, https://, grpc://, grpcs://"),
        (" http://10.0.0.1", "it holds white space"),
        ("http://10.0.0.1\n", "it holds white space"),
        ("http://", "the host is missing"),
        ("http://:30000", "the host is missing"),
        ("http://10.0.0.1:99999", "Port out of range"),
        ("http://[::1:30000", "Invalid IPv6 URL"),
        ("http://a,b:1", "'a,b' is not a host name"),
    ],
)
def test_a_url_that_is_none_is_named_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        reporter_endpoint(url, 50_061)
    assert why in str(caught.value)


@pytest.mark.parametrize("port", [0, 65_536, -1])
def test_a_port_out_of_range_is_refused(port: int) -> None:
    with pytest.raises(ConfigError, match="not between 1 and 65535"):
        reporter_endpoint("http://h", port)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://10.0.0.1:30000@3", "http://10.0.0.1:30000"),
        ("http://user@10.0.0.1:30000", "http://user@10.0.0.1:30000"),
        ("http://10.0.0.1:30000@", "http://10.0.0.1:30000@"),
        ("http://10.0.0.1:30000@x3", "http://10.0.0.1:30000@x3"),
    ],
)
def test_only_a_trailing_at_sign_with_digits_is_a_rank(url: str, base: str) -> None:
    assert base_url(url) == base


def test_the_ranks_of_a_worker_are_one_worker() -> None:
    ranks = [worker_target(f"http://h:30000@{rank}", 50_061) for rank in range(8)]
    assert target_set(ranks) == (WorkerTarget(url="http://h:30000", reporter="h:50061"),)


def test_a_set_is_the_same_in_whatever_order_it_was_found() -> None:
    workers = [worker_target(f"http://10.0.0.{last}:30000", 50_061) for last in (3, 1, 2)]
    assert target_set(workers) == target_set(reversed(workers))
    assert [worker.url[-7] for worker in target_set(workers)] == ["1", "2", "3"]


@pytest.mark.parametrize("other", ["http://H:30000/", "http://h:30001", "https://h:30000"])
def test_two_workers_with_one_reporter_are_refused_not_guessed(other: str) -> None:
    with pytest.raises(WorkerListError, match="share the load reporter h:50061: name each worker once") as caught:
        target_set([worker_target("http://h:30000", 50_061), worker_target(other, 50_061)])
    assert other in str(caught.value)


def test_one_worker_of_two_types_is_refused() -> None:
    workers = [worker_target("http://h", 50_061, kind) for kind in (WorkerType.PREFILL, WorkerType.DECODE)]
    with pytest.raises(WorkerListError, match=r"http://h \(prefill\) and http://h \(decode\)"):
        target_set(workers)


def test_an_entry_names_url_reporter_and_type() -> None:
    entry = {"url": "http://h:30000@1", "reporter": "OTHER:7", "worker_type": "prefill"}
    expected = WorkerTarget(url="http://h:30000", reporter="other:7", worker_type=WorkerType.PREFILL)
    assert target_of(entry, 50_061) == expected
    assert target_of("http://h:30000", 7) == WorkerTarget(url="http://h:30000", reporter="h:7")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (7, "7 is not a worker: a URL is"),
        (None, "None is not a worker"),
        ({}, "url must be a string"),
        ({"url": 7}, "url must be a string"),
        ({"url": "http://h", "reporter": 50_061}, "so must reporter"),
        ({"url": "http://h", "worker_typ": "decode"}, "'worker_typ' is no key of a worker"),
        ({"url": "http://h", "worker_type": "PREFILL"}, "worker_type 'PREFILL' is not allowed: one of regular"),
    ],
)
def test_an_entry_of_another_shape_is_refused(entry: object, why: str) -> None:
    with pytest.raises(WorkerListError, match=why):
        target_of(entry, 50_061)

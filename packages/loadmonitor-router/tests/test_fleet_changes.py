"""What a new list of Workers changes, and when two descriptions are one Worker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router import ConfigError, DuplicateWorkerError, WorkerTarget, WorkerType
from loadmonitor_router._fleet import compare_fleet, normalize_url


def target(number: int, *, reporter: str = "", worker_type: WorkerType = WorkerType.REGULAR) -> WorkerTarget:
    return WorkerTarget(url=f"http://h{number}:30000", reporter=reporter or f"h{number}:50061", worker_type=worker_type)


targets = st.builds(
    lambda number, moved, worker_type: target(number, reporter=f"h{number}:{50061 + moved}", worker_type=worker_type),
    st.integers(0, 5),
    st.integers(0, 1),
    st.sampled_from(WorkerType),
)
fleets = st.lists(st.lists(targets, max_size=6, unique_by=lambda worker: worker.url), max_size=6)


@given(fleets)
def test_applying_the_changes_makes_the_known_workers_the_wanted_ones(history: list[list[WorkerTarget]]) -> None:
    known: dict[str, WorkerTarget] = {}
    for wanted in history:
        change = compare_fleet(known, wanted)
        model = {worker.url: worker for worker in wanted}
        assert set(change.stop) == set(known.values()) - set(wanted)
        assert set(change.start) == set(wanted) - set(known.values())
        for worker in change.stop:
            del known[worker.url]
        for worker in change.start:
            assert worker.url not in known
            known[worker.url] = worker
        assert known == model
        again = compare_fleet(known, reversed(wanted))
        assert (again.stop, again.start) == ((), ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h:30000", "http://H:30000/"),
        ("HTTP://h:30000", "http://h:30000"),
        ("H:50061", "h:50061"),
        ("[::0:1]:50061", "[::1]:50061"),
        ("http://h", "http://h:80"),
        ("https://h/", "https://h:443"),
        ("http://[2001:DB8:0::1]:30000", "http://[2001:db8::1]:30000"),
        ("http://H:30000@3", "http://h:30000@3/"),
    ],
)
def test_two_spellings_of_one_url_are_one_worker(one: str, other: str) -> None:
    first, second = (WorkerTarget(url=url, reporter=f"r{number}:1") for number, url in enumerate((one, other)))
    with pytest.raises(DuplicateWorkerError) as caught:
        compare_fleet({}, [first, second])
    assert (caught.value.first, caught.value.second) == (one, other)
    assert one in str(caught.value)
    assert other in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h:30000", "http://h:30001"),
        ("http://h:80", "https://h:80"),
        ("http://h:30000/a", "http://h:30000/b"),
        ("http://h:30000@0", "http://h:30000@1"),
        ("http://a:30000@3", "http://b:30000@3"),
        ("grpc://h", "grpc://h:80"),
    ],
)
def test_different_urls_are_different_workers(one: str, other: str) -> None:
    assert normalize_url(one) != normalize_url(other)


@given(st.sampled_from(["http", "HTTPS", "grpc"]), st.sampled_from(["h", "H.Example", "[::1]"]), st.integers(1, 65_535))
def test_a_normal_url_is_its_own_normal_form(scheme: str, host: str, port: int) -> None:
    once = normalize_url(f"{scheme}://{host}:{port}/")
    assert normalize_url(once) == once


@pytest.mark.parametrize("one", ["h:50061", "[::1]:50061"])
def test_two_workers_with_one_reporter_are_refused_by_name(one: str) -> None:
    workers = [target(1, reporter=one), target(2, reporter=one.upper())]
    with pytest.raises(DuplicateWorkerError, match=r"h1:30000.*h2:30000.*one load reporter") as caught:
        compare_fleet({}, workers)
    assert (caught.value.first, caught.value.second) == ("http://h1:30000", "http://h2:30000")


def test_the_same_worker_twice_is_refused() -> None:
    with pytest.raises(DuplicateWorkerError, match="one url"):
        compare_fleet({}, [target(1), target(1)])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h:x",
        "h",
        "//h:30000",
        "http://",
        "http:///path",
        "http://h:x",
        "http://h:70000",
        "http://[::z]:1",
        "http://a b",
    ],
)
def test_what_is_no_url_is_refused_by_name(url: str) -> None:
    with pytest.raises(ConfigError, match="worker url") as caught:
        compare_fleet({}, [WorkerTarget(url=url, reporter="h:1")])
    assert repr(url) in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_is_normalised_or_refused_with_the_typed_error(url: str) -> None:
    try:
        normal = normalize_url(url)
    except ConfigError:
        return
    assert normalize_url(normal) == normal

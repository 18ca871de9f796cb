"""One spelling for each worker, and no registration of what a router would take for another one."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_lifecycle import InvalidWorkerURLError, RouterLifecycleError, normalize_worker_url, split_dp_rank


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://10.0.0.1:30000", "http://10.0.0.1:30000"),
        ("http://10.0.0.1:30000/", "http://10.0.0.1:30000"),
        ("HTTP://10.0.0.1:30000", "http://10.0.0.1:30000"),
        ("https://Engine-0.Engines.prod.svc:8443", "https://engine-0.engines.prod.svc:8443"),
        ("grpc://engine_0:20000", "grpc://engine_0:20000"),
        ("http://localhost:1", "http://localhost:1"),
        ("http://10.0.0.1:065535", "http://10.0.0.1:65535"),
        ("http://h:80", "http://h:80"),
        ("http://engine-0.svc.cluster.local.:30000", "http://engine-0.svc.cluster.local.:30000"),
        ("http://[2001:db8::19d]:8000", "http://[2001:db8::19d]:8000"),
        ("http://[2001:0DB8:0:0:0:0:0:019D]:8000", "http://[2001:db8::19d]:8000"),
        ("http://[::1]:30000/", "http://[::1]:30000"),
        ("http://[::ffff:c000:201]:30000", "http://[::ffff:192.0.2.1]:30000"),
        ("http://[::FFFF:192.0.2.1]:30000", "http://[::ffff:192.0.2.1]:30000"),
    ],
)
def test_every_spelling_becomes_the_canonical_one(url: str, canonical: str) -> None:
    assert normalize_worker_url(url) == canonical
    assert normalize_worker_url(canonical) == canonical


def test_two_ports_of_one_host_and_two_schemes_stay_different_workers() -> None:
    urls = ["http://10.0.0.1:30000", "http://10.0.0.1:30001", "grpc://10.0.0.1:30000", "https://10.0.0.1:30000"]
    assert len({normalize_worker_url(url) for url in urls}) == 4


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "isn't absolute"),
        ("not-a-url", "isn't absolute"),
        ("127.0.0.1:30000", "isn't absolute"),
        ("localhost:30000", "isn't absolute"),
        ("//10.0.0.1:30000", "isn't absolute"),
        ("http:/10.0.0.1:30000", "isn't absolute"),
        ("ftp://10.0.0.1:30000", "no router dials the scheme 'ftp'"),
        ("unix:///run/engine.sock", "no router dials the scheme 'unix'"),
        (" http://10.0.0.1:30000", "white space"),
        ("http://10.0.0.1:30000\n", "white space"),
        ("http://10.0.0.1\t:30000", "white space"),
        ("http://10.0.0.1:30000\x00", "control character"),
        ("http://10.0.0.1", "no port from 1 to 65535"),
        ("http://10.0.0.1:0", "no port from 1 to 65535"),
        ("http://10.0.0.1:65536", "no port from 1 to 65535"),
        ("http://10.0.0.1:", "can't be told apart"),
        ("http://10.0.0.1:+1", "can't be told apart"),
        ("http://10.0.0.1:٣", "can't be told apart"),
        ("http://:30000", "can't be told apart"),
        ("http://", "can't be told apart"),
        ("http://2001:db8::19d:8000", "IPv6 address needs brackets"),
        ("http://::1:30000", "IPv6 address needs brackets"),
        ("http://[::1:30000", "IPv6 address needs brackets"),
        ("http://[]:30000", "neither a host name nor an IP address"),
        ("http://[10.0.0.1]:30000", "neither a host name nor an IP address"),
        ("http://[fe80::1%eth0]:30000", "IP address without zone"),
        ("http://10.0.0.256:30000", "neither a host name nor an IP address"),
        ("http://010.0.0.1:30000", "neither a host name nor an IP address"),
        ("http://10.1:30000", "neither a host name nor an IP address"),
        ("http://0x7f.0x1:30000", "neither a host name nor an IP address"),
        ("http://engine..svc:30000", "neither a host name nor an IP address"),
        ("http://движок:30000", "neither a host name nor an IP address"),
        ("http://engine%2Esvc:30000", "neither a host name nor an IP address"),
        (f"http://{'a' * 64}:30000", "neither a host name nor an IP address"),
        (f"http://{'a.' * 127}a:30000", "neither a host name nor an IP address"),
        ("http://10.0.0.1:30000/v1", "something follows the port"),
        ("http://10.0.0.1:30000//", "something follows the port"),
        ("http://10.0.0.1:30000?a=1", "something follows the port"),
        ("http://10.0.0.1:30000#a", "something follows the port"),
        ("http://10.0.0.1:30000@3", "data-parallel rank"),
        ("http://[::1]:30000@0", "data-parallel rank"),
        ("http://user@10.0.0.1:30000", "user name or password"),
        ("http://user:pass@10.0.0.1:30000", "user name or password"),
    ],
)
def test_what_is_no_worker_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(InvalidWorkerURLError) as caught:
        normalize_worker_url(url)
    assert reason in caught.value.reason
    assert isinstance(caught.value, RouterLifecycleError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:s3cret@10.0.0.1:30000", "http://***@10.0.0.1:30000"),
        ("http://user:s3cret/@10.0.0.1:30000", "http://***@10.0.0.1:30000"),
        ("http://s3cret@evil@10.0.0.1:30000", "http://***@10.0.0.1:30000"),
        ("http://user:s3cret@10.0.0.1:30000@3", "http://***@3"),
        ("http://user:s3cret:1234@5", "http://***@5"),
        ("http://user:s3cret@//10.0.0.1:30000@3", "http://***@3"),
        ("user:s3cret@10.0.0.1:30000", "***@10.0.0.1:30000"),
        ("http://user:s3cret\n@10.0.0.1:30000", "http://***@10.0.0.1:30000"),
        ("http://10.0.0.1:30000/?key=s3cret", "http://10.0.0.1:30000/?***"),
        ("http://10.0.0.1:30000/#s3cret", "http://10.0.0.1:30000/#***"),
        ("http://10.0.0.1:30000@3", "http://10.0.0.1:30000@3"),
    ],
)
def test_a_refusal_shows_the_url_without_its_secrets(url: str, shown: str) -> None:
    with pytest.raises(InvalidWorkerURLError) as caught:
        normalize_worker_url(url)
    assert caught.value.url == shown
    assert repr(shown) in str(caught.value)
    assert "s3cret" not in repr(caught.value)


def test_the_error_survives_a_process_boundary() -> None:
    with pytest.raises(InvalidWorkerURLError) as caught:
        normalize_worker_url("10.0.0.1:30000")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert str(again) == str(caught.value)
    assert (again.url, again.reason) == ("10.0.0.1:30000", "it isn't absolute: put http:// in front")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("http://192.0.2.1:30000@3", ("http://192.0.2.1:30000", 3)),
        ("http://192.0.2.1:30000@0", ("http://192.0.2.1:30000", 0)),
        ("http://192.0.2.1:30000@127", ("http://192.0.2.1:30000", 127)),
        ("HTTP://Engine-0:30000@1", ("http://engine-0:30000", 1)),
        ("http://[2001:DB8::19d]:30000@2", ("http://[2001:db8::19d]:30000", 2)),
        ("http://192.0.2.1:30000", ("http://192.0.2.1:30000", None)),
        ("http://192.0.2.1:30000/", ("http://192.0.2.1:30000", None)),
        ("http://u@host:1", ("http://u@host:1", None)),
        ("http://u@3", ("http://u@3", None)),
        ("http://192.0.2.1:30000@", ("http://192.0.2.1:30000@", None)),
        ("http://192.0.2.1:30000@x", ("http://192.0.2.1:30000@x", None)),
        ("http://192.0.2.1:30000@-1", ("http://192.0.2.1:30000@-1", None)),
        ("http://192.0.2.1:30000@1@2", ("http://192.0.2.1:30000@1@2", None)),
        ("http://192.0.2.1:99999@1", ("http://192.0.2.1:99999@1", None)),
        ("unknown", ("unknown", None)),
        ("", ("", None)),
    ],
)
def test_only_digits_behind_a_worker_url_are_a_rank(listed: str, expected: tuple[str, int | None]) -> None:
    assert split_dp_rank(listed) == expected


HOSTS = (
    st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map(lambda address: f"[{address.exploded}]")
    | st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?(\.[a-z]{1,5})?", fullmatch=True)
)
URLS = st.builds(
    lambda scheme, host, port: f"{scheme}://{host}:{port}",
    st.sampled_from(["http", "https", "grpc"]),
    HOSTS,
    st.integers(min_value=1, max_value=65_535),
)


@given(url=URLS, slash=st.sampled_from(["", "/"]))
def test_case_and_slash_make_no_difference_and_the_result_is_canonical(url: str, slash: str) -> None:
    canonical = normalize_worker_url(url)
    assert normalize_worker_url(url.upper() + slash) == canonical
    assert normalize_worker_url(canonical) == canonical


@given(url=URLS, rank=st.integers(min_value=0, max_value=2**20))
def test_a_rank_is_split_off_every_worker_url(url: str, rank: int) -> None:
    assert split_dp_rank(f"{url}@{rank}") == (normalize_worker_url(url), rank)


@given(st.text() | st.from_regex(r"https?://[a-z0-9.:@\[\]/?#]{0,20}"))
def test_no_text_makes_either_function_raise_anything_else(text: str) -> None:
    try:
        assert split_dp_rank(text) == (normalize_worker_url(text), None)
    except InvalidWorkerURLError:
        base, rank = split_dp_rank(text)
        assert rank is not None or base == text

"""What each answer of an engine comes to: ranks, or one stable word; no I/O."""

import json
from collections.abc import Sequence

import pytest
from http_engine import CORE, body, current, undated
from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_worker._validate import validate_ranks
from loadmonitor_worker._verdict import Attempt, ReportStatus, judge
from loadmonitor_worker.errors import InvalidSnapshotError, SourceError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources import HttpReason
from loadmonitor_worker.sources._sglang_fields import to_rank_snapshot, to_sglang_fields
from loadmonitor_worker.sources._v1_loads import LoadsAnswer, parse_loads

RECEIVED = 1_700_000_005_678
TAKEN = 1_700_000_000_123
URL = "http://engine:30000/v1/loads?include=core"
MISSING = object()

# The answer of January 2026, whose ranks carried no more than this.
JANUARY = (
    b'{"timestamp":"2025-01-12T10:30:00.123456+00:00","version":"0.4.5.post1","dp_rank_count":2,'
    b'"loads":[{"dp_rank":0,"timestamp":1736678400.123,"num_running_reqs":5,"num_waiting_reqs":2}]}'
)
GET_LOAD = b'[{"dp_rank":0,"num_reqs":3,"num_waiting_reqs":1,"num_tokens":900,"ts_tic":81234.5}]'


def parse(content: bytes, status: int = 200, *, with_key: bool = False, **headers: str) -> LoadsAnswer:
    return parse_loads(
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        content,
        received_unix_ms=RECEIVED,
        where=URL,
        with_key=with_key,
    )


def failure(content: bytes, status: int = 200, *, with_key: bool = False, **headers: str) -> SourceUnavailableError:
    with pytest.raises(SourceUnavailableError) as caught:
        parse(content, status, with_key=with_key, **headers)
    return caught.value


def reported(content: bytes) -> Sequence[RankSnapshot]:
    """What the reporter makes of an answer."""
    answer = parse(content)
    ranks, _ = validate_ranks(answer.ranks, frozenset(range(answer.dp_size)), clamp=False)
    return ranks


def full(dp_rank: int, at: int = TAKEN) -> RankSnapshot:
    return RankSnapshot(
        dp_rank=dp_rank,
        snapshot_time_unix_ms=at,
        num_running_reqs=11,
        num_waiting_reqs=22,
        num_waiting_uncached_tokens=33,
        num_used_tokens=44,
        num_total_tokens=55,
        max_total_num_tokens=66,
        max_running_requests=77,
        token_usage=0.9,
        gen_throughput=88.5,
        cache_hit_rate=0.5,
        utilization=-1.0,
        prefill_uncached_tokens_total=99,
        prefill_busy_us_total=111,
    )


def older(dp_rank: int) -> RankSnapshot:
    """A rank that was told without its time and without totals."""
    return RankSnapshot(dp_rank=dp_rank, snapshot_time_unix_ms=RECEIVED, **CORE)  # type: ignore[arg-type]


def test_every_value_of_0_5_23_is_read_and_its_own_time_kept() -> None:
    answer = parse(body(current(0), current(1)))
    assert answer == LoadsAnswer((full(0), full(1)), 2, frozenset())


def test_a_prefill_workers_utilization_and_the_fullest_pools_usage_pass_as_they_are() -> None:
    [rank] = reported(body(current(0)))
    assert (rank.utilization, rank.token_usage) == (-1, 0.9)
    assert rank.num_used_tokens is not None
    assert rank.num_used_tokens / rank.max_total_num_tokens == pytest.approx(2 / 3)


def test_no_running_request_beside_a_long_queue_is_a_load_like_any_other() -> None:
    [rank] = reported(body(current(0, num_running_reqs=0, num_waiting_reqs=2_826)))
    assert (rank.num_running_reqs, rank.num_waiting_reqs) == (0, 2_826)


@pytest.mark.parametrize("version", ["0.5.10", "2026-08"])
def test_ranks_without_a_time_are_stamped_with_the_arrival_whatever_the_top_says(version: str) -> None:
    answer = parse(body(undated(0), undated(1), version=version, timestamp="2020-01-01T00:00:00+00:00"))
    assert answer == LoadsAnswer((older(0), older(1)), 2, frozenset({0, 1}))
    assert answer.ranks[0].prefill_uncached_tokens_total is None


def test_each_rank_is_stamped_by_itself() -> None:
    answer = parse(body(current(0), undated(1)))
    assert [rank.snapshot_time_unix_ms for rank in answer.ranks] == [TAKEN, RECEIVED]
    assert answer.stamped_by_receipt == {1}


def test_a_null_time_is_no_time_and_a_zero_time_means_not_published_yet() -> None:
    answer = parse(body(current(0, None), current(1, 0.0)))
    assert [rank.snapshot_time_unix_ms for rank in answer.ranks] == [RECEIVED, None]
    verdict = judge(Attempt(answer.ranks), now_unix_ms=RECEIVED, stale_after_ms=3_000)
    assert (verdict.status, verdict.last_error) == (ReportStatus.STALE, "rank 1 without a usable timestamp")


def test_what_later_releases_add_is_ignored() -> None:
    content = body(
        current(0, memory={"weight_gb": 1.5}, num_total_reqs=33, queues=[1], new=None), aggregate={"total_reqs": 33}
    )
    assert parse(content).ranks == (full(0),)


@pytest.mark.parametrize(("count", "expected"), [(2, 2), (4, 4), (None, 2), (MISSING, 2)])
def test_the_number_of_ranks_is_the_engines_count_or_else_its_highest_rank(count: object, expected: int) -> None:
    top = {} if count is MISSING else {"dp_rank_count": count}
    assert parse(body(current(1), current(0), **top)).dp_size == expected


@pytest.mark.parametrize("count", [0, -1, True, "2", 2.0, 65_536, 10**30, [2]])
def test_a_count_of_ranks_that_is_none_is_refused(count: object) -> None:
    with pytest.raises(InvalidSnapshotError, match="dp_rank_count is") as caught:
        parse(body(current(0), dp_rank_count=count))
    assert caught.value.field == "dp_rank_count"


@pytest.mark.parametrize(
    ("ranks", "named"),
    [
        ([0, 2], "rank 1 missing of the 3 expected ranks"),
        ([3], "ranks 0, 1, 2 missing of the 4 expected ranks"),
        ([0, 0], "rank 0 appears twice"),
        ([0, -1], "dp_rank=-1"),
    ],
)
def test_a_rank_set_with_gaps_doubles_or_strangers_is_not_reported(ranks: list[int], named: str) -> None:
    with pytest.raises(InvalidSnapshotError, match=named):
        reported(body(*(current(rank) for rank in ranks)))


def test_a_count_above_the_ranks_told_is_not_reported() -> None:
    with pytest.raises(InvalidSnapshotError, match="rank 1 missing of the 2 expected ranks"):
        reported(body(current(0), dp_rank_count=2))


@pytest.mark.parametrize("key", [*CORE, "dp_rank"])
@pytest.mark.parametrize("how", ["absent", "null"])
def test_a_value_that_is_missing_makes_the_answer_incomplete_and_is_never_zero(key: str, how: str) -> None:
    rank = current(0) | {key: None}
    if how == "absent":
        del rank[key]
    error = failure(body(rank))
    assert error.reason == HttpReason.INCOMPLETE
    assert f"rank 0 doesn't tell {key}, and unknown is not 0" in str(error)


def test_the_answer_of_january_2026_is_incomplete_and_says_what_it_lacks() -> None:
    error = failure(JANUARY)
    assert error.reason == HttpReason.INCOMPLETE
    assert "num_waiting_uncached_tokens, num_used_tokens, num_total_tokens" in str(error)
    assert "num_running_reqs" not in str(error)
    assert "upgrade the engine" in str(error)


def test_totals_alone_are_incomplete() -> None:
    loads = b'{"loads":[{"dp_rank":0,"num_total_tokens":10},{"dp_rank":1,"num_total_tokens":5}]}'
    assert failure(loads).reason == HttpReason.INCOMPLETE


def test_the_list_of_get_load_is_known_and_incomplete() -> None:
    error = failure(GET_LOAD)
    assert error.reason == HttpReason.INCOMPLETE
    assert "max_total_num_tokens" in str(error)


def test_a_list_that_tells_all_is_stamped_by_arrival_because_its_counter_is_no_time() -> None:
    content = json.dumps([undated(0, ts_tic=81_234.5), undated(1, ts_tic=81_234.5)]).encode()
    assert parse(content) == LoadsAnswer((older(0), older(1)), 2, frozenset({0, 1}))


@pytest.mark.parametrize("more", [{}, {"dp_rank_count": 1, "version": "0.5.9"}])
def test_sums_over_ranks_are_no_rank_set_even_of_one_rank(more: dict[str, object]) -> None:
    error = failure(json.dumps({"aggregate": {"total_tokens": 15, "total_reqs": 2}, **more}).encode())
    assert error.reason == HttpReason.AGGREGATE_ONLY


@pytest.mark.parametrize(
    "content", [body(), body(aggregate={"total_tokens": 0}, dp_rank_count=0), b"[]", b'{"loads":[]}']
)
def test_no_ranks_means_that_the_engine_is_starting(content: bytes) -> None:
    assert failure(content).reason == HttpReason.NO_RANKS


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"null",
        b"3",
        b'"x"',
        b'{"load":7}',
        b'{"loads":3}',
        b'{"server_load": -2}',
        b'[{"id":1}]',
        b"[0]",
        b'{"data":[]}',
    ],
)
def test_other_json_means_that_the_route_is_not_there(content: bytes) -> None:
    assert failure(content).reason == HttpReason.ROUTE_ABSENT


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, HttpReason.ROUTE_ABSENT),
        (405, HttpReason.ROUTE_ABSENT),
        (501, HttpReason.ROUTE_ABSENT),
        (401, HttpReason.UNAUTHORIZED),
        (403, HttpReason.UNAUTHORIZED),
        (204, HttpReason.HTTP_STATUS),
        (302, HttpReason.HTTP_STATUS),
        (400, HttpReason.HTTP_STATUS),
        (429, HttpReason.HTTP_STATUS),
        (500, HttpReason.HTTP_STATUS),
        (502, HttpReason.HTTP_STATUS),
        (503, HttpReason.HTTP_STATUS),
    ],
)
def test_a_status_is_told_by_one_word_whatever_the_body(status: int, reason: HttpReason) -> None:
    error = failure(body(current(0)), status)
    assert error.reason == reason
    assert f"{URL} answered {status}" in str(error)


def test_a_refusal_says_whether_a_key_was_sent() -> None:
    assert "give the engine's API key" in str(failure(b"", 401))
    assert "the API key is not the engine's" in str(failure(b"", 401, with_key=True))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "Expecting value at character 0"),
        (b"<html>", "Expecting value at character 0"),
        (body(current(0))[:-1], "at character"),
        (body(current(0)) + b"}", "Extra data"),
        (b"\xef\xbb\xbf" + body(current(0)), "BOM"),
        ('{"loads":[],"note":"é"}'.encode("latin-1"), "byte 20 is wrong"),
        (body(current(0)).decode().encode("utf-16"), "byte 0 is wrong"),
        (b'{"loads":[],"note":"\xed\xa0\x80"}', "byte 20 is wrong"),
        (body(current(0, gen_throughput=float("nan"))), "NaN is no number of JSON"),
        (body(current(0, gen_throughput=float("-inf"))), "-Infinity is no number of JSON"),
        (body(current(0, decode_moments=[float("nan")])), "NaN is no number of JSON"),
        (b'{"loads":[],"loads":[]}', "a key appears twice in one object"),
        (body(current(0)).replace(b'"dp_rank": 0', b'"dp_rank": 0, "dp_rank": 1'), "a key appears twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5_000, "Exceeds the limit"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_json_is_refused_with_the_place(content: bytes, fault: str) -> None:
    error = failure(content, content_type="application/json; charset=latin-1")
    assert error.reason == HttpReason.BAD_JSON
    assert fault in str(error)
    assert f"{len(content)} bytes, 'application/json; charset=latin-1'" in str(error)


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP ", "identity, gzip"])
def test_a_compressed_body_is_not_unpacked(encoding: str) -> None:
    assert failure(body(current(0)), content_encoding=encoding).reason == HttpReason.COMPRESSED
    assert parse(body(current(0)), content_encoding="identity").ranks


@pytest.mark.parametrize(
    ("key", "literal"),
    [
        ("num_running_reqs", "true"),
        ("num_running_reqs", "3.0"),
        ("num_running_reqs", '"3"'),
        ("num_running_reqs", "1e400"),
        ("dp_rank", "false"),
        ("dp_rank", "0.0"),
        ("dp_rank", "70000"),
        ("dp_rank", "1" * 4_000),
        ("token_usage", "true"),
        ("token_usage", '"0.5"'),
        ("timestamp", '"2026-11-02T10:30:00+00:00"'),
        ("timestamp", "-1"),
        ("timestamp", "1e400"),
        ("timestamp", "1" * 400),
        ("timestamp", "true"),
        ("total_prefill_busy_us", "1.5"),
    ],
)
def test_a_value_of_the_wrong_type_or_no_rank_or_time_is_refused_by_the_source(key: str, literal: str) -> None:
    content = (
        body(current(0, **{key: "PUT"})) if key not in {"dp_rank", "timestamp"} else body(current(0) | {key: "PUT"})
    )
    with pytest.raises(InvalidSnapshotError) as caught:
        parse(content.replace(b'"PUT"', literal.encode()))
    assert caught.value.field == key
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("key", "literal"),
    [
        ("num_running_reqs", "-1"),
        ("num_waiting_reqs", "-2"),
        ("num_used_tokens", "1" + "0" * 30),
        ("max_total_num_tokens", "9223372036854775808"),
        ("gen_throughput", "1e400"),
        ("gen_throughput", "1" + "0" * 400),
        ("cache_hit_rate", "-0.5"),
        ("utilization", "-2"),
        ("total_prefill_busy_us", "-1"),
    ],
)
def test_a_value_out_of_range_is_refused_by_the_reporter(key: str, literal: str) -> None:
    content = body(current(0, **{key: "PUT"})).replace(b'"PUT"', literal.encode())
    with pytest.raises(InvalidSnapshotError, match="can't be reported"):
        reported(content)


@pytest.mark.parametrize("item", [None, 3, "x", [1]])
def test_an_item_that_is_no_object_is_refused(item: object) -> None:
    with pytest.raises(InvalidSnapshotError, match="item 1 of the ranks is a"):
        parse(body(current(0), item))


def test_a_hostile_rank_name_does_not_flood_the_message() -> None:
    error = failure(body({"dp_rank": "x" * 100_000}))
    assert len(str(error)) < 1_000
    with pytest.raises(InvalidSnapshotError) as caught:
        parse(body(current(0) | {"dp_rank": ["x" * 100_000] * 9}))
    assert len(str(caught.value)) < 1_000


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["loads", "dp_rank", "timestamp", "aggregate", "dp_rank_count", *CORE]), inner, max_size=14
        )
    ),
    max_leaves=40,
)


@given(
    _json
    | st.fixed_dictionaries(
        {"loads": st.lists(st.fixed_dictionaries({"dp_rank": _json, **dict.fromkeys(CORE, _json)}))}
    )
)
def test_any_json_gives_ranks_or_a_source_error(value: object) -> None:
    try:
        answer = parse(json.dumps(value).encode())
    except SourceError:
        return
    assert answer.ranks


@given(st.binary(max_size=200))
def test_any_bytes_give_a_source_error(content: bytes) -> None:
    with pytest.raises(SourceError):
        parse(content)


def test_a_ratio_above_one_is_none_as_it_is_none_among_metrics() -> None:
    with pytest.raises(InvalidSnapshotError, match=r"token_usage of rank 0 is 1\.7, above 1") as caught:
        to_rank_snapshot(to_sglang_fields(full(0)) | {"token_usage": 1.7})
    assert (caught.value.dp_rank, caught.value.field) == (0, "token_usage")
    assert to_rank_snapshot(to_sglang_fields(full(0)) | {"cache_hit_rate": 87.5}).cache_hit_rate is None
    at_most = to_rank_snapshot(to_sglang_fields(full(0)) | {"token_usage": 1, "cache_hit_rate": 1, "utilization": 1.7})
    assert (at_most.token_usage, at_most.cache_hit_rate, at_most.utilization) == (1, 1, 1.7)

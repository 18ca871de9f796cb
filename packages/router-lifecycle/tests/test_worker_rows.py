"""What routers say is read with tolerance: unknown words stay, wrong types are unknown, extra fields are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_bench import OTHER, URL, job, row

from router_lifecycle import JobStatus, Observation, RecordState, Worker, WorkerRow
from router_lifecycle.models import group_rows, ranks_missing, read_rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_unknown_words_are_kept_and_are_no_end() -> None:
    read = JobStatus.model_validate({"job_type": "DrainWorker", "status": "queued", "worker_url": URL})
    assert (read.job_type, read.status, read.message, read.is_failed) == ("DrainWorker", "queued", None, False)
    entry = WorkerRow.model_validate(row(worker_type="encoder", status="warming_up"))
    assert (entry.worker_type, entry.status, entry.is_routable) == ("encoder", "warming_up", False)


def test_extra_fields_are_kept() -> None:
    entry = WorkerRow.model_validate(row(load=3, models=[{"id": "m"}]))
    assert entry.model_extra == {"load": 3, "models": [{"id": "m"}]}
    assert WorkerRow.model_validate_json(entry.model_dump_json()) == entry


@given(st.dictionaries(st.sampled_from([*WorkerRow.model_fields, "x"]), JSON), st.text())
def test_no_entry_with_a_url_spoils_a_list(entry: dict[str, object], url: str) -> None:
    read = read_rows([{**entry, "url": url}, row()])
    assert [one.url for one in read] == [url, URL]


@pytest.mark.parametrize(
    ("entry", "routable"),
    [
        ({"is_healthy": True}, True),
        ({"is_healthy": False}, False),
        ({}, False),
        ({"is_healthy": True, "status": "ready"}, True),
        ({"status": "ready"}, True),
        ({"is_healthy": True, "status": "draining"}, False),
        ({"is_healthy": False, "status": "ready"}, False),
        ({"is_healthy": "true"}, False),
    ],
)
def test_routable_is_healthy_and_ready_where_the_router_says_ready(entry: dict[str, object], routable: bool) -> None:
    assert WorkerRow.model_validate({"url": URL, **entry}).is_routable is routable


def test_entries_are_grouped_into_workers_with_their_ranks_in_order() -> None:
    listed = read_rows([row(f"{URL}@1"), row(OTHER), row(f"{URL}@0"), row("unix:///x")])
    workers = group_rows("http://router:30000", listed)
    assert [(worker.url, worker.ranks) for worker in workers] == [(URL, (0, 1)), (OTHER, ()), ("unix:///x", ())]


@pytest.mark.parametrize(
    ("ranks", "more", "missing"),
    [
        ([0, 1], {"dp_size": 2}, False),
        ([0], {"dp_size": 2}, True),
        ([4, 5], {"metadata": {"dp_size": "2"}}, False),
        ([1], {"labels": {"dp_size": "2"}}, True),
        ([0], {}, False),
        ([0], {"metadata": {"dp_size": "many"}}, False),
    ],
)
def test_ranks_are_missing_when_an_entry_tells_of_more(
    ranks: list[int], more: dict[str, object], missing: bool
) -> None:
    listed = read_rows([{**row(f"{URL}@{rank}"), **more} for rank in ranks])
    assert ranks_missing(listed) is missing
    assert Worker(router="http://r", url=URL, rows=listed).is_routable is not missing


def test_a_plain_entry_that_tells_of_ranks_misses_none() -> None:
    assert not ranks_missing(read_rows([row(metadata={"dp_size": "8"})]))


def test_an_observation_says_what_was_seen_and_what_could_not_be_read() -> None:
    look = Observation(
        seen_at_unix_seconds=0.0,
        record_state=RecordState.PRESENT,
        record=WorkerRow.model_validate(row(healthy=False, job_status=job(status="failed", message="no route"))),
        faults=("GET /workers: HTTP 503 without a body",),
    )
    assert str(look) == (
        f"asked for it, it has {URL} (unhealthy), job AddWorker failed: no route; its list could not be read; "
        "GET /workers: HTTP 503 without a body"
    )
    assert "knows none; it lists none" in str(look.model_copy(update={"record_state": RecordState.ABSENT, "rows": ()}))
    assert "no answer about it" in str(Observation(seen_at_unix_seconds=0.0))

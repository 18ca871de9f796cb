"""What each dialect asks and how it reads the answers; which one a router speaks is found from its answers."""

import pytest
from lifecycle_bench import ACCEPTED, NO_SUCH, NO_UUID, OTHER, SMG_404, SPEC, URL, UUID, answer, row

from router_lifecycle import Answer, Request, WorkerRow
from router_lifecycle.dialects import (
    CreatedKind,
    Dialect,
    DialectName,
    SmgDialect,
    SyncDialect,
    UnknownRouterError,
    UrlDialect,
    UuidDialect,
    probe,
    read_created,
)

ENCODED = "http%3A%2F%2F10.0.0.1%3A30000"


def probed(*answers: Answer) -> tuple[Dialect, list[Request]]:
    asking = probe()
    requests = [next(asking)]
    for one in answers:
        try:
            requests.append(asking.send(one))
        except StopIteration as found:
            return found.value, requests
    raise AssertionError(f"the probe wants more answers after {requests}")


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ([NO_SUCH], "url"),
        ([NO_UUID, answer(404)], "uuid"),
        ([NO_UUID, SMG_404], "smg"),
        ([answer(404), answer(200, {"urls": []})], "sync"),
        ([answer(404, {"detail": "Not Found"}), answer(200, {"urls": [URL]})], "sync"),
    ],
)
def test_the_dialect_is_found_from_the_answers_to_requests_that_change_nothing(
    answers: list[Answer], name: str
) -> None:
    dialect, requests = probed(*answers)
    assert dialect.name == name
    assert {request.method for request in requests} == {"GET"}


@pytest.mark.parametrize(
    "answers",
    [
        [answer(404), answer(404)],
        [answer(200, "<html>"), answer(200, "<html>")],
        [answer(200, {"text": "hello"}), answer(200, {"text": "hello"})],
    ],
)
def test_what_answers_like_no_router_is_none(answers: list[Answer]) -> None:
    with pytest.raises(UnknownRouterError):
        probed(*answers)


@pytest.mark.parametrize(
    ("body", "guess", "worker_id", "dialect"),
    [
        ({"status": "accepted", "worker_id": URL, "message": "queued"}, "url", URL, "url"),
        # The answer decides, whatever was guessed.
        ({"status": "accepted", "worker_id": URL, "message": "queued"}, "uuid", URL, "url"),
        (ACCEPTED.json(), "uuid", UUID, "uuid"),
        (ACCEPTED.json(), "url", UUID, "uuid"),
        (ACCEPTED.json(), "smg", UUID, "smg"),
    ],
)
def test_a_202_is_an_acceptance_and_decides_the_dialect(
    body: dict[str, object], guess: DialectName, worker_id: str, dialect: str
) -> None:
    created = read_created(answer(202, body), URL, guess)
    assert (created.kind, created.worker_id, created.dialect) == (CreatedKind.ACCEPTED, worker_id, dialect)


@pytest.mark.parametrize(
    "body",
    [
        {"success": True, "message": "added", "worker": {}},
        {"status": "success"},
        f"Worker {URL} added successfully",
    ],
)
def test_a_200_is_a_synchronous_success_when_it_says_so(body: object) -> None:
    created = read_created(answer(200, body), URL, "url")
    assert (created.kind, created.dialect, created.worker_id) == (CreatedKind.ACCEPTED, "sync", URL)


@pytest.mark.parametrize("body", [{"text": "hi"}, "hello", f"Worker {OTHER} added successfully", [1]])
def test_a_200_that_somebody_else_gave_proves_nothing(body: object) -> None:
    assert read_created(answer(200, body), URL, "sync").kind is CreatedKind.UNKNOWN


def test_a_200_that_says_no_is_a_refusal() -> None:
    assert read_created(answer(200, {"success": False}), URL, "sync").kind is CreatedKind.REJECTED


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (307, CreatedKind.REJECTED),
        (400, CreatedKind.REJECTED),
        (422, CreatedKind.REJECTED),
        (401, CreatedKind.UNAUTHORIZED),
        (403, CreatedKind.UNAUTHORIZED),
        (409, CreatedKind.EXISTS),
        (408, CreatedKind.UNKNOWN),
        (425, CreatedKind.UNKNOWN),
        (429, CreatedKind.UNKNOWN),
        (500, CreatedKind.UNKNOWN),
        (504, CreatedKind.UNKNOWN),
        (201, CreatedKind.UNKNOWN),
    ],
)
def test_another_status_is_read_for_what_it_says_of_the_submission(status: int, kind: CreatedKind) -> None:
    assert read_created(answer(status, "text"), URL, "uuid").kind is kind


def test_a_409_names_the_worker_that_is_there() -> None:
    busy = {"error": f"Worker creation already in progress with ID {UUID}. Poll", "code": "WORKER_CREATE_IN_PROGRESS"}
    created = read_created(answer(409, busy), URL, "uuid")
    assert (created.kind, created.worker_id) == (CreatedKind.IN_PROGRESS, UUID)


def rows(*entries: dict[str, object]) -> tuple[WorkerRow, ...]:
    return tuple(WorkerRow.model_validate(entry) for entry in entries)


PLAIN = rows(row(worker_id="p"))
RANKS = rows(row(f"{URL}@0", worker_id="r0"), row(f"{URL}@1", worker_id="r1"))


@pytest.mark.parametrize(
    ("dialect", "worker_id", "listed", "ids"),
    [
        (UrlDialect(), None, (), (URL,)),
        (UrlDialect(), None, rows(row(worker_id=URL)), (URL,)),
        (UrlDialect(), None, rows(row(URL + "/", worker_id=URL + "/")), (URL + "/",)),
        (UrlDialect(), None, RANKS, (URL,)),
        (UuidDialect(), None, PLAIN, ("p",)),
        (UuidDialect(), UUID, PLAIN, ("p",)),
        (UuidDialect(), UUID, RANKS, (UUID,)),
        (UuidDialect(), UUID, (), (UUID,)),
        (UuidDialect(), None, RANKS, ()),
        (UuidDialect(), None, (), ()),
        (SmgDialect(), UUID, RANKS, ("r0", "r1")),
        (SmgDialect(), UUID, (), (UUID,)),
        (SmgDialect(), None, (), ()),
        (SmgDialect(), UUID, rows(row(f"{URL}@0", worker_id="r0", status="draining"), row(f"{URL}@1")), (UUID,)),
        (SyncDialect(), None, (), (URL,)),
    ],
)
def test_a_worker_is_removed_by_the_ids_that_its_router_accepts(
    dialect: Dialect, worker_id: str | None, listed: tuple[WorkerRow, ...], ids: tuple[str, ...]
) -> None:
    assert dialect.removal_ids(URL, worker_id, listed) == ids


def test_the_requests_of_each_dialect() -> None:
    body = {"url": URL, "worker_type": "regular"}
    for dialect in (UrlDialect(), UuidDialect(), SmgDialect()):
        assert dialect.create(SPEC) == Request("POST", "/workers", body)
        assert dialect.list_all() == Request("GET", "/workers")
        assert dialect.remove("a/b") == Request("DELETE", "/workers/a%2Fb")
    assert UrlDialect().show(URL, None) == Request("GET", f"/workers/{ENCODED}")
    assert UuidDialect().show(URL, UUID) == Request("GET", f"/workers/{UUID}")
    assert UuidDialect().show(URL, None) is None
    assert SyncDialect().create(SPEC) == Request("POST", f"/add_worker?url={ENCODED}")
    assert SyncDialect().remove(URL) == Request("POST", f"/remove_worker?url={ENCODED}")
    assert SyncDialect().list_all() == Request("GET", "/list_workers")
    assert SyncDialect().show(URL, URL) is None


def test_a_list_keeps_what_is_a_worker_and_passes_over_the_rest() -> None:
    listed = answer(200, {"workers": [row(), "x", None, {"id": 1}, {"url": "odd://", "is_healthy": "yes"}]})
    found = UuidDialect().read_list(listed)
    assert found is not None
    assert [(entry.url, entry.is_healthy) for entry in found] == [(URL, True), ("odd://", None)]
    assert UuidDialect().read_list(answer(200, {"workers": {}})) is None
    assert UuidDialect().read_list(answer(200, "<html>")) is None
    assert SyncDialect().read_list(answer(200, {"urls": [URL, 7]})) == rows({"url": URL, "id": URL})

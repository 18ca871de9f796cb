"""Updates in place: only where routers offer them, and done when the entries show it."""

from types import MappingProxyType
from typing import Any

import pytest
from lifecycle_bench import DELETED, SMG, SPEC, URL, UUID, Bench, answer, job, listing, row, scripted

from router_lifecycle import (
    IdentityConflict,
    OperationTimeout,
    RouterUnsupported,
    TransportError,
    UpdateFailed,
    Worker,
    WorkerRow,
)
from router_lifecycle.testing import FakeEngine, RouterOptions, Stage, reset

WORKER = Worker(router="http://router:30000", url=URL, worker_id=UUID, rows=(WorkerRow(url=URL, id=UUID),))
ONE = f"GET /workers/{UUID}"
ALL = "GET /workers"


@pytest.mark.parametrize(("version", "method"), [("0.3.0", "PUT"), ("0.3.2", "PUT"), (SMG, "PATCH")])
async def test_priority_cost_and_labels_are_changed_in_place(version: str, method: str) -> None:
    bench = Bench(version)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    changed = await bench.run(client.update(worker, priority=7, cost=2.5, labels=MappingProxyType({"zone": "a"})))
    entry = changed.rows[0]
    assert (entry.priority, entry.cost, (entry.labels | entry.metadata)["zone"]) == (7, 2.5, "a")
    assert len(bench.sent(method)) == 1
    assert bench.posts == 1


async def test_on_smg_every_rank_is_changed() -> None:
    bench = Bench(SMG, FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    changed = await bench.run(client.update(worker, priority=7))
    assert [entry.priority for entry in changed.rows] == [7, 7]


async def test_ranks_that_cant_be_changed_are_left_alone() -> None:
    bench = Bench("0.3.2", FakeEngine(URL, dp_size=2), options=RouterOptions(dp_aware=True))
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    with pytest.raises(RouterUnsupported, match="remove it and register it again"):
        await bench.run(client.update(worker, priority=7))
    assert bench.sent("PUT") == []


@pytest.mark.parametrize("version", ["0.2.0", "0.2.2", "0.2.4"])
async def test_a_router_without_updates_says_so_and_gets_none(version: str) -> None:
    bench = Bench(version)
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    with pytest.raises(RouterUnsupported):
        await bench.run(client.update(worker, priority=7))
    assert {request.method for request in bench.router.requests} == {"GET", "POST"}


async def test_a_lost_answer_is_settled_by_looking() -> None:
    bench = Bench()
    client = bench.client()
    worker = await bench.run(client.register(SPEC))
    bench.router.faults.add(reset(Stage.AFTER), method="PUT")
    changed = await bench.run(client.update(worker, priority=7))
    assert changed.rows[0].priority == 7
    assert len(bench.sent("PUT")) == 1


async def test_a_refused_update_is_told() -> None:
    clock, _, client = scripted("uuid", {"PUT": [answer(422, "no")], ONE: [answer(200, row())], ALL: [listing(row())]})
    with pytest.raises(UpdateFailed, match="HTTP 422: no"):
        await clock.run(client.update(WORKER, priority=7))


async def test_a_failed_update_is_told_with_the_routers_message() -> None:
    failed = answer(200, row(job_status=job("UpdateWorker", "failed", "disk on fire")))
    clock, _, client = scripted("uuid", {"PUT": [DELETED], ONE: [answer(200, row()), failed], ALL: [listing(row())]})
    with pytest.raises(UpdateFailed, match="disk on fire"):
        await clock.run(client.update(WORKER, priority=7))


async def test_an_update_that_never_shows_is_a_time_out() -> None:
    clock, _, client = scripted("uuid", {"PUT": [DELETED], ONE: [answer(200, row())], ALL: [listing(row())]})
    with pytest.raises(OperationTimeout, match="isn't to be seen yet"):
        await clock.run(client.update(WORKER, priority=7, timeout=10))


async def test_an_update_that_never_left_is_told_as_such() -> None:
    refused = TransportError("connection refused", maybe_sent=False)
    clock, _, client = scripted("uuid", {"PUT": [refused], ONE: [answer(200, row())], ALL: [listing(row())]})
    with pytest.raises(OperationTimeout, match="nothing was sent"):
        await clock.run(client.update(WORKER, priority=7))


async def test_a_worker_that_isnt_listed_cant_be_updated() -> None:
    clock, script, client = scripted("uuid", {ONE: [answer(200, row())], ALL: [listing()]})
    with pytest.raises(IdentityConflict, match="nothing to update"):
        await clock.run(client.update(WORKER, priority=7))
    assert script.count("PUT") == 0


@pytest.mark.parametrize("changes", [{}, {"priority": -1}, {"cost": float("nan")}, {"labels": {"a": 1}}])
async def test_a_change_that_is_none_or_out_of_range_is_refused_before_any_request(changes: dict[str, Any]) -> None:
    _, script, client = scripted("uuid", {})
    with pytest.raises(ValueError, match=r"changes nothing|validation error"):
        await client.update(WORKER, **changes)
    assert script.requests == []

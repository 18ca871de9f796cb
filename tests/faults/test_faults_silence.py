"""A peer or a path that falls silent without a word: what is noticed, how soon, and that nothing old is called fresh."""

import signal
from pathlib import Path

import pytest
from case import Case
from processes import Router, Worker
from proxy import Proxy

pytestmark = pytest.mark.timeout(180)

QUICK_PINGS = ("--ping-ms", "1000")
FRESHNESS_MS = 3_000


@pytest.mark.fault("the worker is stopped (SIGSTOP) for longer than pings wait")
async def test_a_stopped_worker_is_stale_then_missing_and_fresh_again_once_it_runs(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address, *QUICK_PINGS) as router:
        await router.starts()
        case.happens("SIGSTOP")
        worker.signal(signal.SIGSTOP)
        await case.router_says(router, "missing", "ping timeout", within=30)
        await case.router_says(router, "missing", "no connection within 2000 ms", within=40)
        case.happens("SIGCONT")
        worker.signal(signal.SIGCONT)
        await case.router_says(router, "fresh", within=30)
        await case.worker_says(worker, "r", streams=1, within=30)


@pytest.mark.long
@pytest.mark.fault("the worker is stopped (SIGSTOP) for 4 s, default pings")
async def test_a_worker_that_was_stopped_shortly_is_stale_and_goes_on_on_the_same_stream(case: Case) -> None:
    async with Worker.serving() as worker, Router.watching(worker.address) as router:
        before = await router.starts()
        case.happens("SIGSTOP")
        worker.signal(signal.SIGSTOP)
        await case.router_says(router, "stale", "ms old", within=20)
        case.happens("SIGCONT")
        worker.signal(signal.SIGCONT)
        after = await case.router_says(router, "fresh", within=30)
        assert after["reconnects"] == 0
        assert after["instance"] == before["instance"]


@pytest.mark.long
@pytest.mark.fault("the worker is stopped (SIGSTOP), default pings")
async def test_a_stopped_worker_is_missing_within_the_default_pings(case: Case) -> None:
    async with Worker.serving() as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("SIGSTOP")
        worker.signal(signal.SIGSTOP)
        await case.router_says(router, "stale", "ms old", within=20)
        await case.router_says(router, "missing", "ping timeout", within=40)


@pytest.mark.fault("the router is stopped (SIGSTOP) for longer than its lease")
async def test_a_stopped_router_loses_its_session_and_calls_nothing_old_fresh_afterwards(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address, "--lease-ms", "1500") as router:
        await router.starts()
        case.happens("SIGSTOP")
        router.signal(signal.SIGSTOP)
        await case.worker_says(worker, streams=0, within=20)
        case.happens("SIGCONT")
        router.signal(signal.SIGCONT)
        await case.router_says(router, "missing", "LEASE_EXPIRED", within=20)
        fresh = await case.router_says(router, "fresh", within=20)
        assert fresh["age_ms"] <= FRESHNESS_MS
        await case.worker_says(worker, "r", streams=1, within=20)


@pytest.mark.fault("the router is stopped (SIGSTOP) for 4 s at 20 reports a second")
async def test_a_router_that_was_stopped_shortly_finds_one_old_report_and_does_not_call_it_fresh(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address, "--interval-ms", "50") as router:
        await router.starts()
        case.happens("SIGSTOP")
        router.signal(signal.SIGSTOP)
        frozen = await worker.tells(after_ns=case.since_ns)
        while (told := await worker.tells(after_ns=case.since_ns))["ns"] < case.since_ns + 4_000_000_000:
            pass
        async with case.outcome(worker="at most one report is under way; the others are coalesced", within=20):
            assert told["fires"] <= frozen["fires"] + 1
            assert told["coalesced"] > frozen["coalesced"] + 20
        case.happens("SIGCONT")
        router.signal(signal.SIGCONT)
        async with case.outcome(router="stale or fresh as the age says: none above 3000 ms is called fresh", within=20):
            reports: dict[int, float] = {}
            while len(reports) < 5:
                said = await router.says("fresh", after_ns=case.since_ns)
                reports[said["sequence"]] = said["age_ms"]
            assert max(reports.values()) <= FRESHNESS_MS


@pytest.mark.long
@pytest.mark.fault("the router is stopped (SIGSTOP), default pings")
async def test_a_stopped_router_is_noticed_by_the_workers_pings(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address, "--lease-ms", "300000") as router:
        await router.starts()
        case.happens("SIGSTOP")
        router.signal(signal.SIGSTOP)
        await case.worker_says(worker, streams=0, within=40)


@pytest.mark.fault("half-open: the worker's end of the connection is gone, the router isn't told")
async def test_a_router_on_a_half_open_connection_finds_out_by_its_pings(case: Case) -> None:
    async with (
        Worker.telling() as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, *QUICK_PINGS) as router,
    ):
        await router.starts()
        case.happens("the worker's end is reset")
        proxy.lose_workers_side()
        await case.worker_says(worker, streams=0, within=10)
        await case.router_says(router, "missing", "ping timeout", within=20)
        await case.router_says(router, "fresh", within=20)
        await case.worker_says(worker, "r", streams=1, within=20)


@pytest.mark.fault("half-open: the router's end of the connection is gone, the worker isn't told")
async def test_a_worker_on_a_half_open_connection_lets_the_router_in_again_at_once(case: Case) -> None:
    async with Worker.telling() as worker, Proxy(worker.address) as proxy, Router.watching(proxy.address) as router:
        await router.starts()
        case.happens("the router's end is reset")
        proxy.lose_routers_side()
        await case.router_says(router, "missing", "UNAVAILABLE", within=10)
        await case.router_says(router, "fresh", within=10)
        await case.worker_says(worker, "r", streams=1, within=10, note="the old session was replaced")


@pytest.mark.fault("a black hole: packets vanish both ways, TCP looks fine")
async def test_a_black_hole_is_noticed_by_both_sides_and_forgotten_once_it_ends(case: Case) -> None:
    async with (
        Worker.telling() as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, *QUICK_PINGS, "--lease-ms", "3000") as router,
    ):
        await router.starts()
        case.happens("everything is swallowed")
        proxy.swallows = True
        await case.router_says(router, "missing", "ping timeout", within=20)
        await case.worker_says(worker, streams=0, within=30)
        case.happens("the hole is closed")
        proxy.swallows = False
        await case.router_says(router, "fresh", within=30)
        await case.worker_says(worker, "r", streams=1, within=30)


@pytest.mark.long
@pytest.mark.fault("a black hole, default pings")
async def test_a_black_hole_is_stale_then_missing_within_the_default_pings(case: Case) -> None:
    async with Worker.telling() as worker, Proxy(worker.address) as proxy, Router.watching(proxy.address) as router:
        await router.starts()
        case.happens("everything is swallowed")
        proxy.swallows = True
        await case.router_says(router, "stale", "ms old", within=20)
        await case.router_says(router, "missing", "ping timeout", within=40)
        await case.worker_says(worker, streams=0, within=40)


@pytest.mark.long
@pytest.mark.fault("the path freezes for 4 s: TCP holds both sides back")
async def test_a_frozen_path_makes_a_worker_stale_and_nothing_old_is_fresh_when_it_thaws(case: Case) -> None:
    async with (
        Worker.telling("--dp-size", "64") as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, "--interval-ms", "50") as router,
    ):
        await router.starts()
        case.happens("nothing is forwarded")
        proxy.freeze()
        await case.router_says(router, "stale", "ms old", within=20)
        case.happens("the path thaws")
        proxy.thaw()
        fresh = await case.router_says(router, "fresh", within=20)
        assert fresh["reconnects"] == 0
        await case.worker_says(worker, "r", streams=1, within=20)


@pytest.mark.long
@pytest.mark.fault("the path freezes for good amid big reports to a router without acknowledgements, default pings")
async def test_writes_that_are_stuck_hold_up_neither_the_lease_nor_the_pings(case: Case) -> None:
    async with (
        Worker.telling("--dp-size", "256") as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, "--interval-ms", "50", "--no-acks", "--lease-ms", "4000") as router,
    ):
        await router.starts()
        case.happens("nothing is forwarded")
        proxy.freeze()
        await case.router_says(router, "stale", "ms old", within=20)
        async with case.outcome(worker="registered: nobody; the stream lingers in its write", within=20):
            while (said := await worker.tells(after_ns=case.since_ns))["registered"]:
                pass
            assert said["streams"] == 1
        await case.router_says(router, "missing", "ping timeout", within=40)
        await case.worker_says(worker, streams=0, within=50)


@pytest.mark.fault("the router reads slowly: 1,000 bytes a second of reports of 64 ranks")
async def test_a_report_that_took_longer_than_the_window_to_arrive_is_stale_on_arrival(case: Case) -> None:
    async with (
        Worker.telling("--dp-size", "64") as worker,
        Proxy(worker.address) as proxy,
        Router.watching(proxy.address, "--interval-ms", "50") as router,
    ):
        await router.starts()
        case.happens("the path turns slow")
        proxy.bytes_per_second = 1_000
        stale = await case.router_says(router, "stale", "ms old", within=20)
        async with case.outcome(router="stale: the next report is too old on its arrival", within=40):
            while (said := await router.tells(after_ns=case.since_ns))["received"] == stale["received"]:
                assert said["freshness"] == "stale"
            assert said["freshness"] == "stale"
            assert said["age_ms"] > FRESHNESS_MS
        await case.worker_says(worker, "r", streams=1, within=40, note="one report under way")
        case.happens("the path is quick again")
        proxy.bytes_per_second = None
        await case.router_says(router, "fresh", within=20)


@pytest.mark.fault("the engine's event loop, which the reporter shares, stalls 5 s")
async def test_a_stalled_loop_keeps_its_sessions_although_their_leases_ran_out_meanwhile(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address, "--lease-ms", "2000") as router:
        await router.starts()
        case.happens("the loop stalls 5 s")
        await worker.order("stall 5")
        await case.router_says(router, "stale", "ms old", within=15)
        fresh = await case.router_says(router, "fresh", within=20)
        assert fresh["reconnects"] == 0
        await case.worker_says(worker, "r", streams=1, within=20, note="the same session")


@pytest.mark.long
@pytest.mark.fault("the engine leaves reads unanswered for 3 s")
async def test_an_engine_that_does_not_answer_is_unreachable_within_the_budget(case: Case) -> None:
    async with Worker.telling() as worker, Router.watching(worker.address) as router:
        await router.starts()
        case.happens("reads hang 3 s")
        await worker.order("hang 3")
        await case.router_says(router, "unreachable", "1000 ms", within=15)
        fresh = await case.router_says(router, "fresh", within=20)
        assert fresh["reconnects"] == 0
        await case.worker_says(worker, "r", streams=1, within=20, note="the same session")


@pytest.mark.long
@pytest.mark.fault("the engine's process is stopped (SIGSTOP), the reporter beside it runs")
async def test_an_engine_that_stands_still_is_stale_by_its_workers_own_word(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "loads.shm"
    async with Worker.simulating("--shm-path", str(file), "--dp-size", "2") as engine:
        source = (
            "--source",
            "sglang-shm",
            "--shm-path",
            str(file),
            "--listen",
            "127.0.0.1:0",
            "--stale-after-ms",
            "1000",
        )
        async with Worker.serving(*source) as worker, Router.watching(worker.address) as router:
            await router.starts()
            case.happens("SIGSTOP of the engine")
            engine.signal(signal.SIGSTOP)
            await case.router_says(router, "stale", "rank", within=15)
            case.happens("SIGCONT of the engine")
            engine.signal(signal.SIGCONT)
            fresh = await case.router_says(router, "fresh", within=15)
            assert fresh["reconnects"] == 0

"""Registry replicas on Redis, 16 sources and 64 pullers, each a process, on the real wire: what pullers choose when things go on.

The fleet starts once; every test begins with all sources ready and idle. Bounds are those of docs/programs/p2p_bounds.py.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from math import isnan
from typing import Any

import pytest
import pytest_asyncio
import redis
from p2p_bounds import Wave
from p2p_fleet import Fleet, Listed, Program
from p2p_source import CHUNKS, SourceConfig
from p2p_story import assert_same_story, by_label, expected_order, loads, rendezvous_order, series
from redis_server import RedisServer

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

POLICIES = ["load_aware", "spread"]
PREFILL = [f"prefill-{place}" for place in range(8)]
DECODE = [f"decode-{place}" for place in range(8)]
KV_USAGE = 0.997
PULLERS = 64
_config = SourceConfig(worker_id="", registry="", folder="")
PULL_LOAD = _config.pull_share * (1 + 1 / (0.2 * CHUNKS * _config.heartbeat_seconds / _config.pull_seconds))
"""The most that one pull adds to a load: its share of the NIC, and one chunk more where a fifth of a heartbeat is measured."""

Report = dict[str, Any]


class System:
    """The fleet and the store beneath it."""

    def __init__(self, fleet: Fleet, store: RedisServer) -> None:
        self.fleet = fleet
        self.store = store
        self._lives: Counter[str] = Counter()

    async def at_rest(self) -> None:
        """Have 16 sources, ready and idle, and nothing else in the store."""
        fleet = self.fleet
        roles = {role_of(name) for name in fleet.sources}
        await fleet.start_sources(
            [self.new_life(role) for role in (*PREFILL, *DECODE) if role not in roles], publish=False
        )
        await fleet.all_sources("hide")
        with redis.Redis(port=self.store.port) as store:
            store.flushall()
        await fleet.all_sources("become")
        await fleet.all_sources("publish")
        await self.until_loads(dict.fromkeys(fleet.sources, 0.0))
        await fleet.all_sources("counts")

    async def until_loads(self, wanted: Mapping[str, float | None]) -> None:
        """Wait until exactly these sources are listed, each with this load, as well as it can be measured."""

        def shows(listed: Listed) -> bool:
            return listed.keys() == wanted.keys() and all(
                (load is None) == (listed[name].source_load is None)
                and (load is None or listed[name].source_load == pytest.approx(load, abs=0.05 if load else 0))
                for name, load in wanted.items()
            )

        await self.fleet.until_listed(f"the loads {dict(wanted)}", shows)

    async def until_at(self, name: str, load: float) -> None:
        """Wait until a source is listed with about this load."""
        await self.fleet.until_listed(f"{name} at {load}", lambda listed: is_at(listed, name, load))

    async def until_gone(self, name: str) -> None:
        """Wait until a source isn't listed."""
        await self.fleet.until_listed(f"the end of {name}", lambda listed: name not in listed)

    def age(self, name: str, milliseconds: int) -> None:
        """Let a source's last sign of life be so old, as it becomes when that time passes."""
        with redis.Redis(port=self.store.port) as store:
            (key,) = store.scan_iter(match=f"mx:source:*:{name}")
            (now, _) = store.time()
            for field in ("0", "status:0"):
                told = json.loads(store.hget(key, field) or "")
                store.hset(key, field, json.dumps(told | {"updated_at": now * 1000 - milliseconds}))

    async def counted(self) -> Counter[Any]:
        """Return the sum of all pullers' counters."""
        return series(report["text"] for report in await self.fleet.all_pullers("metrics"))

    @asynccontextmanager
    async def same_story(self, policy: str, reports: list[Report]) -> AsyncIterator[Counter[Any]]:
        """Compare reports that the block gathers with the sources' counts, and with the metrics, whose increase it yields then."""
        before, counted = await self.counted(), Counter[Any]()
        yield counted
        counted.update(await self.counted())
        counted.subtract(before)
        assert_same_story(reports, policy, counted, await self.fleet.all_sources("counts"))

    def new_life(self, role: str) -> str:
        """Return a worker id for a new process in a role."""
        self._lives[role] += 1
        return f"{role}.{self._lives[role]}"

    def names(self, roles: Iterable[str]) -> list[str]:
        """Return the worker ids of the processes in these roles now."""
        by_role = {role_of(name): name for name in self.fleet.sources}
        return [by_role[role] for role in roles]


def role_of(name: str) -> str:
    return name.partition(".")[0]


def pulled_from(reports: Iterable[Report], names: Iterable[str]) -> int:
    """Return how many got their weights from one of these, after checking that everybody got them."""
    sources = Counter(report["source"] for report in reports)
    assert sources[None] == 0
    return sum(sources[name] for name in names)


def assert_within(wave: Wave, policy: str, reports: list[Report], idle: list[str], busy: list[str]) -> None:
    assert pulled_from(reports, busy) <= wave.most_from_busy(policy)
    assert max(pulled_from(reports, [name]) for name in idle) <= wave.most_from_one(policy)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[System]:
    folder = tmp_path_factory.mktemp("p2p")
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as store:
        backend = f"redis://127.0.0.1:{store.port}"
        async with Fleet.running(folder, backend=backend, replicas=2, pullers=PULLERS) as fleet:
            yield System(fleet, store)
    for pid in fleet.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert "Traceback" not in fleet.log.read_text()


@pytest_asyncio.fixture(loop_scope="module")
async def system(running: System) -> System:
    await running.at_rest()
    return running


@pytest.mark.parametrize(
    ("policy", "weight"),
    [
        ("load_aware", 1.0),
        ("spread", 1.0),
        pytest.param("load_aware", 0.5, marks=pytest.mark.long),
        pytest.param("load_aware", 2.0, marks=pytest.mark.long),
        pytest.param("spread", 2.0, marks=pytest.mark.long),
    ],
)
async def test_a_scale_up_pulls_from_the_idle_and_within_the_bounds(system: System, policy: str, weight: float) -> None:
    fleet = system.fleet
    prefill, first, new = system.names(PREFILL), system.names(DECODE[:4]), system.names(DECODE[4:])
    await fleet.all_sources("hide", new)
    await fleet.all_sources("become", prefill, usage=KV_USAGE)
    for decode, pullers in ((first, fleet.pullers[::2]), (first + new, fleet.pullers[1::2])):
        if len(decode) > len(first):
            await fleet.all_sources("publish", new)
        # The pulls of the wave before are over, and heartbeats have told so.
        await system.until_loads(dict.fromkeys(prefill, KV_USAGE) | dict.fromkeys(decode, 0.0))
        wave = Wave(
            pullers=len(pullers),
            idle=len(decode),
            busy=len(prefill),
            busy_load=KV_USAGE - 1e-6,  # it travels as a float of 32 bits
            swing=len(pullers) * PULL_LOAD,
            weight=weight,
        )
        # It would not be avoided by chance.
        assert wave.most_from_busy(policy) < len(pullers) * wave.busy_chance("rendezvous_hash")
        reports: list[Report] = []
        async with system.same_story(policy, reports):
            reports += await fleet.all_pullers("pull", pullers, policy=policy, weight=weight)
        assert_within(wave, policy, reports, decode, prefill)
        shown = [loads(told["text"]) for told in await fleet.all_pullers("metrics", pullers)]
        assert shown == [report["listed"] for report in reports]
        for report in reports:
            assert report["listed"].keys() == {*prefill, *decode}
            assert report["order"] == expected_order(report, policy, weight)[: len(report["order"])]
            assert report["bytes"] == _config.pull_bytes


async def test_a_rolling_update_under_load_costs_no_pull_and_keeps_the_bounds(system: System) -> None:
    fleet = system.fleet
    old = system.names([*PREFILL, *DECODE])
    background = {role: 0.9 if role in PREFILL else 0.0 for role in (*PREFILL, *DECODE)}
    await asyncio.gather(*(fleet.sources[name].ask("become", background=background[role_of(name)]) for name in old))
    new = {role: system.new_life(role) for role in background}
    await fleet.start_sources(new.values(), publish=False)
    await asyncio.gather(
        *(fleet.sources[name].ask("become", background=background[role]) for role, name in new.items())
    )
    await system.until_loads({name: background[role_of(name)] for name in old})

    gone: set[str] = set()
    reports: dict[str, list[Report]] = {policy: [] for policy in POLICIES}

    async def pull(puller: Program, policy: str) -> None:
        left = set(gone)
        report = await puller.ask("pull", policy=policy)
        reports[policy].append(report)
        assert not left & report["listed"].keys()

    leaving: tuple[str, list[asyncio.Task[None]]] | None = None
    async with asyncio.TaskGroup() as pulls:
        for step, name in enumerate(old):
            replacement = new[role_of(name)]
            await fleet.sources[replacement].ask("publish")
            await system.until_at(replacement, background[role_of(name)])
            begun = [
                pulls.create_task(pull(puller, POLICIES[place % 2]))
                for place, puller in enumerate(fleet.pullers[step::16])
            ]
            await fleet.sources[name].ask("hide")
            await system.until_gone(name)
            gone.add(name)
            # Its grace: those that chose it before are served to the end, while the next one is being replaced.
            if leaving is not None:
                await asyncio.wait(leaving[1])
                await fleet.stop_source(leaving[0])
            leaving = name, begun
    if leaving is not None:
        await fleet.stop_source(leaving[0])
    assert fleet.sources.keys() == set(new.values())
    assert gone == set(old)
    for policy in POLICIES:
        wave = Wave(pullers=32, idle=8, busy=8, busy_load=0.7, swing=2 * 32 * PULL_LOAD)
        assert len(reports[policy]) == 32
        busy = [name for name in (*old, *new.values()) if role_of(name) in PREFILL]
        assert pulled_from(reports[policy], busy) <= wave.most_from_busy(policy)
        # An old one and a new one count as one.
        roles = Counter(role_of(report["source"]) for report in reports[policy])
        assert max(roles[role] for role in DECODE) <= wave.most_from_one(policy)
        outcomes = {outcome for report in reports[policy] for _, outcome in report["attempts"]}
        assert outcomes <= {"success", "metadata_miss"}


def is_at(listed: Listed, name: str, load: float) -> bool:
    return name in listed and listed[name].source_load == pytest.approx(load, abs=0.05)


@pytest.mark.parametrize("policy", POLICIES)
async def test_sources_that_die_or_come_back_as_another_process_cost_retries_and_give_nothing(
    system: System, policy: str
) -> None:
    fleet = system.fleet
    firsts = Counter(report["order"][0] for report in await fleet.all_pullers("order", policy=policy))
    (killed, _), (asked, _) = firsts.most_common(2)
    await fleet.all_sources("become", [killed, asked], pull_seconds=60)
    reports: list[Report] = []
    async with system.same_story(policy, reports) as counted:
        wave = asyncio.create_task(fleet.all_pullers("pull", policy=policy))
        await fleet.all_sources("await_pulls", [killed, asked], count=1)
        port = int(fleet.sources[killed].told["endpoint"].rpartition(":")[2])
        await fleet.kill_source(killed)
        dying = fleet.sources.pop(asked)
        dying.terminate()
        assert await dying.ended() == -15
        await fleet.until_listed(
            f"{asked} gone, {killed} still there", lambda seen: asked not in seen and killed in seen
        )
        reports += await wave
    assert pulled_from(reports, [killed, asked]) == 0
    assert by_label(counted, "mx_p2p_source_attempts_total", "result", policy)["transfer_retry"] >= 2

    # Another process at the port of the dead one, whose record is still listed.
    successor = system.new_life(role_of(killed))
    await fleet.start_sources([successor], port=port)
    await fleet.until_listed(successor, lambda listed: successor in listed and killed in listed)
    reports.clear()
    async with system.same_story(policy, reports):
        reports += await fleet.all_pullers("pull", policy=policy)
        refused = (await fleet.sources[successor].ask("await_pulls", count=0))["refused"]
    assert pulled_from(reports, [killed, asked]) == 0
    assert Counter(refused) == Counter(r["puller"] for r in reports for s, _ in r["attempts"] if s == killed)
    assert refused
    # What nobody hears of for 90 s is gone.
    system.age(killed, 91_000)
    await system.until_gone(killed)


@pytest.mark.parametrize("policy", POLICIES)
async def test_sources_that_lie_about_their_load_or_fell_silent_win_nothing(system: System, policy: str) -> None:
    fleet = system.fleet
    not_a_number, beyond, silent, lost, *honest = system.names(PREFILL)
    decode = system.names(DECODE)
    await fleet.all_sources("become", honest, usage=KV_USAGE)
    await fleet.sources[not_a_number].ask("lie", load=float("nan"))
    await fleet.sources[beyond].ask("lie", load=42.0)
    # Idle once, and never heard of again: for 10 s one of them, for longer than the registry's limit the other.
    await fleet.all_sources("lie", [silent, lost], load=0.0, beats=1)
    system.age(silent, 10_000)
    system.age(lost, 91_000)

    def shows(listed: Listed) -> bool:
        told = {name: source.source_load for name, source in listed.items()}
        nan = told.get(not_a_number)
        return (
            (
                nan is not None
                and isnan(nan)
                and told.get(beyond) == 42.0
                and told.get(silent) == 0.0
                and lost not in told
            )
            and all(is_at(listed, name, KV_USAGE) for name in honest)
            and all(told.get(name) == 0.0 for name in decode)
        )

    await fleet.until_listed("every lie as it was told, and the lost one not", shows)
    reports: list[Report] = []
    async with system.same_story(policy, reports):
        reports += await fleet.all_pullers("pull", policy=policy, max_age_ms=8_000)
    assert pulled_from(reports, [silent, lost]) == 0
    for report in reports:
        assert lost not in report["listed"]
        assert silent not in report["order"]
        del report["listed"][silent]
        if sum(report["dropped"].values()) == 1:  # else an honest one was late, on a machine that is
            assert report["order"] == expected_order(report, policy)[: len(report["order"])]
    # Not a number is unknown, half full; beyond full is full.
    swing = PULLERS * PULL_LOAD
    unknown = Wave(pullers=PULLERS, idle=len(decode), busy=1, busy_load=0.5, swing=swing)
    full = Wave(pullers=PULLERS, idle=len(decode), busy=len(honest) + 1, busy_load=KV_USAGE - 1e-6, swing=swing)
    assert pulled_from(reports, [not_a_number]) <= unknown.most_from_busy(policy)
    assert pulled_from(reports, [beyond, *honest]) <= full.most_from_busy(policy)


async def test_nobody_pulls_from_itself_or_from_an_earlier_life_of_itself(system: System) -> None:
    fleet = system.fleet
    own, *others = system.names([*DECODE, *PREFILL])
    await fleet.all_sources("become", others, usage=KV_USAGE)
    await system.until_loads(dict.fromkeys(others, KV_USAGE) | {own: 0.0})
    itself, earlier = fleet.pullers[0], fleet.pullers[1]
    report = await itself.ask("pull", policy="load_aware", **{"as": own})
    assert (report["dropped"], own in report["order"]) == ({"own": 1}, False)
    assert report["source"] in others
    report = await earlier.ask("pull", policy="load_aware", endpoint=fleet.sources[own].told["endpoint"])
    assert report["attempts"][0] == [own, "metadata_miss"]
    assert report["source"] in others


@pytest.mark.parametrize("kept", [True, False], ids=["with what it had", "empty"])
async def test_a_store_that_is_lost_comes_back_with_every_source(system: System, kept: bool) -> None:
    fleet, policy, some = system.fleet, "spread", system.fleet.pullers[:16]
    prefill, decode = system.names(PREFILL), system.names(DECODE)
    await fleet.all_sources("become", prefill, usage=KV_USAGE)
    shown = dict.fromkeys(prefill, KV_USAGE) | dict.fromkeys(decode, 0.0)
    await system.until_loads(shown)
    if not kept:
        with redis.Redis(port=system.store.port) as store:
            store.flushall()
    system.store.kill()
    reports: list[Report] = []
    try:
        async with system.same_story(policy, reports) as counted:
            reports += await fleet.all_pullers("pull", some, policy=policy)
    finally:
        system.store.start()
    # Nothing is made up, and what is wrong is told.
    assert {(report["source"], len(report["listed"])) for report in reports} == {(None, 0)}
    assert by_label(counted, "mx_p2p_list_sources_total", "result", policy) == {"empty": len(some)}
    await system.until_loads(shown)
    reports.clear()
    async with system.same_story(policy, reports):
        reports += await fleet.all_pullers("pull", some, policy=policy)
    wave = Wave(pullers=16, idle=8, busy=8, busy_load=KV_USAGE - 1e-6, swing=16 * PULL_LOAD)
    assert_within(wave, policy, reports, decode, prefill)


@pytest.mark.parametrize("load", [0.0, None], ids=["all idle", "no signal"])
async def test_without_a_difference_the_order_is_exactly_that_of_rendezvous_hashing(
    system: System, load: float | None
) -> None:
    fleet = system.fleet
    if load is None:
        await fleet.all_sources("become", usage=None, link=False)
        await system.until_loads(dict.fromkeys(fleet.sources, None))
    firsts = {}
    for policy in (*POLICIES, "rendezvous_hash"):
        reports = await fleet.all_pullers("order", policy=policy)
        for report in reports:
            assert report["listed"] == dict.fromkeys(fleet.sources, load)
            assert report["order"] == rendezvous_order(report)
        firsts[policy] = [report["order"][0] for report in reports]
    assert firsts["load_aware"] == firsts["spread"] == firsts["rendezvous_hash"]
    assert len(set(firsts["spread"])) > 8
    # Unknown isn't idle, in the metrics either.
    texts = [report["text"] for report in await fleet.all_pullers("metrics")]
    assert all(loads(text) == ({} if load is None else dict.fromkeys(fleet.sources, 0.0)) for text in texts)

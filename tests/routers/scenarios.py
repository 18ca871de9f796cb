"""What is played against every router, real and fake, and the table of what came of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import product

from outcome_table import DOCS, OutcomeTable
from pydantic import SecretStr
from raw_answers import raw_answers
from sites import VERSIONS, Flags, http_client
from trial import Trial, listed, outcome

from router_lifecycle import RegistrationHandle, WorkerSpec
from router_lifecycle.testing import FakeEngine, Health

TABLE = OutcomeTable(
    document=DOCS / "routers.md",
    folder="routers",
    columns=(
        "Scenario, release",
        "Outcome",
        "At the fake router",
        "Requests",
        "Asked again",
        "Seconds",
        "Requests, fake",
        "Seconds, fake",
    ),
    measured=5,
)

# Why a real router and the fake one differ. What isn't here must be equal, and what is here must differ.
DIFFERENCES: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Scenario:
    """Something to play.

    Attributes:
        name: In the table.
        play: Plays it.
        flags: Of the router.
        bound_seconds: How long it may take.
        is_long: Whether it is too long for every run.
        is_heavy: Whether it takes so much of the machine that everything else has to be over first.
    """

    name: str
    play: Callable[[Trial], Awaitable[None]]
    flags: Flags
    bound_seconds: float
    is_long: bool
    is_heavy: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str,
    flags: Flags | None = None,
    *,
    alone: bool = False,
    bound_seconds: float = 150.0,
    is_long: bool = False,
    is_heavy: bool = False,
) -> Callable[[Callable[[Trial], Awaitable[None]]], Callable[[Trial], Awaitable[None]]]:
    """Name a scenario; `alone` gives it a router to itself."""

    def add(play: Callable[[Trial], Awaitable[None]]) -> Callable[[Trial], Awaitable[None]]:
        chosen = replace(flags or Flags(), alone=name if alone else "")
        SCENARIOS[name] = Scenario(name, play, chosen, bound_seconds, is_long, is_heavy)
        return play

    return add


def named() -> list[str]:
    """Return the name of each case in the table."""
    return [f"{name}, {version}" for name, version in product(SCENARIOS, VERSIONS)]


def spec_of_url(url: str, **fields: object) -> WorkerSpec:
    return WorkerSpec.model_validate({"url": url, **fields})


def spec_of(engine: FakeEngine, **fields: object) -> WorkerSpec:
    return spec_of_url(engine.url, **fields)


def comes_up(engine: FakeEngine, after_seconds: float) -> None:
    """Let an engine become healthy so much later than now."""
    engine.becomes(Health.HEALTHY, at_seconds=time.monotonic() + after_seconds)


@scenario("live")
async def live(trial: Trial) -> None:
    client = await trial.client()
    spec = spec_of(await trial.engine())
    worker = await trial.register(client, spec)
    assert worker.is_routable
    assert (await listed(client))[spec.url].is_routable
    await trial.remove(client, worker)
    assert spec.url not in await listed(client)
    trial.found += ["registered: active, listed", "removed: not listed"]


@scenario("late: 503, then healthy", alone=True)
async def late(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine(health=Health.LOADING)
    handle = await client.submit(spec_of(engine))
    trial.found.append(f"5 s of 503: {await outcome(client.wait_until_active(handle, timeout=5))}")
    comes_up(engine, 0)
    trial.found.append(f"healthy: {await outcome(client.wait_until_active(handle))}")
    trial.found.append(f"removed: {await outcome(trial.remove(client, handle))}")
    assert engine.url not in await listed(client)


@scenario("dead URL, --worker-startup-timeout-secs 5", Flags(startup_timeout_seconds=5), alone=True)
async def dead(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine(health=Health.DOWN)
    handle = RegistrationHandle(router=client.router_url, spec=spec_of(engine))
    trial.found.append(await outcome(client.register(handle)))
    assert handle.failure is not None or handle.dialect == "smg", "the router's reason is kept where it gives one"
    trial.found.append("still listed" if engine.url in await listed(client) else "not listed")
    trial.found.append(f"removed: {await outcome(trial.remove(client, handle))}")
    assert engine.url not in await listed(client)


@scenario("duplicate, active")
async def duplicate_active(trial: Trial) -> None:
    client, other = await trial.client(), await trial.client()
    spec = spec_of(await trial.engine())
    first = await trial.register(client, spec)
    # A worker is listed a moment before its job ends, and that end wipes the URL's one record: also a later job's.
    async with asyncio.timeout(30):
        while (await client.observe(first)).job is not None:  # noqa: ASYNC110 - a router announces nothing
            await asyncio.sleep(0.05)
    trial.found.append(f"on_existing=fail: {await outcome(other.register(spec))}")
    handle = RegistrationHandle(router=other.router_url, spec=spec)
    submitted = await outcome(other.submit(handle))
    if submitted == "done":
        submitted = f"accepted, then {await outcome(other.wait_until_active(handle))}"
    trial.found.append(f"submitted all the same: {submitted}")
    adopted = await other.register(spec, on_existing="adopt")
    assert adopted.rows[0].id == first.rows[0].id
    trial.found.append("on_existing=adopt: the same worker")
    await trial.remove(client, first)
    assert spec.url not in await listed(client)


@scenario("duplicate, pending", alone=True)
async def duplicate_pending(trial: Trial) -> None:
    client, other = await trial.client(), await trial.client()
    engine = await trial.engine(health=Health.DOWN)
    spec = spec_of(engine)
    handles = [RegistrationHandle(router=client.router_url, spec=spec) for _ in range(2)]
    await client.submit(handles[0])
    submitted = await outcome(other.submit(handles[1]))
    comes_up(engine, 3)
    trial.found.append(f"the second: {'accepted' if submitted == 'done' else submitted}")
    waits = [each.wait_until_active(handle) for each, handle in zip((client, other), handles, strict=True)]
    if submitted != "done":
        waits[1].close()
        waits[1] = other.register(spec, on_existing="adopt")
    ends = await asyncio.gather(*map(outcome, waits))
    # Both jobs write the one record of the URL, so either may look failed; the list tells.
    trial.found.append("active" if "active" in ends else " and ".join(ends))
    await trial.remove(client, handles[0])
    assert spec.url not in await listed(client)


@scenario("removal of an unknown worker")
async def unknown_removal(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine()
    trial.found.append(f"by URL: {await outcome(client.remove(engine.url))}")
    worker = await trial.register(client, spec_of(engine))
    await trial.remove(client, worker)
    trial.found.append(f"again, by id: {await outcome(trial.remove(client, worker))}")


@scenario("removal while pending, and the ghost", alone=True)
async def ghost(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine(health=Health.DOWN)
    handle = await client.submit(spec_of(engine))
    trial.found.append(f"waited for 1 s: {await outcome(client.wait_until_active(handle, timeout=1))}")
    removed = await outcome(trial.remove(client, handle, timeout=8))
    # Which of the two errors depends on whether the router has given up on the removal by then.
    unsure = removed in ("RemovalUnresolved", "OperationTimeout")
    trial.found.append(f"removed: {'not certain after 8 s' if unsure else removed}")
    comes_up(engine, 0)
    if unsure:
        seen: list[str] = []
        watcher = await trial.client(on_event=lambda event: seen.append(event.kind))
        trial.found.append(f"watched for the ghost: {await outcome(watcher.watch_for_ghost(handle))}")
        trial.found.append("it came and was removed" if "removing" in seen else "it did not come")
    assert engine.url not in await listed(client)


@scenario("restart while a worker is awaited", alone=True)
async def restart(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine(health=Health.DOWN)
    handle = await client.submit(spec_of(engine))
    waiting = asyncio.create_task(outcome(client.wait_until_active(handle)))
    await asyncio.sleep(0.5)
    await trial.place.stop()
    await asyncio.sleep(0.5)
    await trial.place.start()
    trial.found.append(f"the one who waited: {await waiting}")
    comes_up(engine, 0)
    await trial.register(client, spec_of(engine))
    trial.found.append("registered again: active")


@scenario("auth", Flags(api_key="k-router"))
async def auth(trial: Trial) -> None:
    spec = spec_of(await trial.engine())
    for name, key in (("without a key", None), ("with a wrong key", "k-wrong")):
        stranger = await trial.stranger(key)
        ends = [await outcome(stranger.list_workers()), await outcome(stranger.register(spec))]
        trial.found.append(f"{name}: {', '.join(dict.fromkeys(ends))}")
    client = await trial.client()
    worker = await trial.register(client, spec)
    removed_by_stranger = await outcome((await trial.stranger("k-wrong")).remove(worker))
    await trial.remove(client, worker)
    trial.found.append(f"with the key: active; removed with a wrong one: {removed_by_stranger}; with the key: done")


@scenario("prefill and decode")
async def prefill_decode(trial: Trial) -> None:
    client = await trial.client()
    for fields in ({"worker_type": "prefill", "bootstrap_port": 8998}, {"worker_type": "decode"}):
        worker = await trial.register(client, spec_of(await trial.engine(), **fields))
        trial.found.append(f"{fields['worker_type']}: active as {worker.worker_type}")
        await trial.remove(client, worker)
        assert worker.url not in await listed(client)


@scenario("dp-aware: 2 ranks added and removed", Flags(dp_aware=True))
async def dp_aware(trial: Trial) -> None:
    client = await trial.client()
    spec = spec_of(await trial.engine(dp_size=2))
    worker = await trial.register(client, spec)
    trial.found.append(f"active with ranks {worker.ranks}" if worker.ranks else "active, one entry without a rank")
    trial.found.append(f"removed: {await outcome(trial.remove(client, worker, timeout=20))}")
    trial.found.append("still listed" if spec.url in await listed(client) else "not listed")


@scenario("a worker that needs a key")
async def keyed(trial: Trial) -> None:
    client = await trial.client()
    for name, key in (("without it", None), ("with it", SecretStr("k-worker"))):
        engine = await trial.engine(api_key="k-worker")
        worker = await trial.register(client, spec_of(engine, api_key=key))
        is_known = worker.rows[0].model_id not in (None, "unknown")
        trial.found.append(f"{name}: active, its model {'known' if is_known else 'unknown'}")
        await trial.remove(client, worker)


@scenario("replace")
async def replaced(trial: Trial) -> None:
    client = await trial.client()
    old = await trial.register(client, spec_of(await trial.engine()))
    spec = spec_of(await trial.engine())
    new = await trial.replace(client, old, spec)
    now = await listed(client)
    assert new.url in now
    assert old.url not in now
    trial.found.append("by another URL: the new one active, the old one gone")
    again = await trial.replace(client, new, spec_of_url(spec.url, priority=7))
    assert again.rows[0].priority == 7
    trial.found.append("by the same URL: active with the new priority")
    await trial.remove(client, again)


async def cycles(trial: Trial, count: int) -> None:
    """Register and remove one URL again and again."""
    client = await trial.client()
    spec = spec_of(await trial.engine())
    handle = None
    for _ in range(count):
        worker = await trial.register(client, spec)
        await trial.remove(client, worker)
        handle = worker
    assert handle is not None
    seen = await client.observe(handle)
    left = [what for what, is_there in (("an entry", seen.rows), ("a job record", seen.job)) if is_there]
    trial.found.append(f"{count} times active and gone; left over: {', '.join(left) or 'nothing'}")


@scenario("ten cycles", bound_seconds=200)
async def ten_cycles(trial: Trial) -> None:
    await cycles(trial, 10)


@scenario("two clients at once")
async def two_clients(trial: Trial) -> None:
    clients = [await trial.client(), await trial.client()]
    spec = spec_of(await trial.engine())
    ends = await asyncio.gather(*(outcome(client.register(spec, on_existing="adopt")) for client in clients))
    trial.found.append(f"both register: {' and '.join(sorted(ends))}, listed once")
    assert len((await listed(clients[0]))[spec.url].rows) == 1
    ends = await asyncio.gather(*(outcome(client.remove(spec, timeout=20)) for client in clients))
    trial.found.append(f"both remove: {' and '.join(sorted(ends))}")
    assert spec.url not in await listed(clients[0])


@scenario("raw answers", alone=True)
async def answers(trial: Trial) -> None:
    trial.found += await raw_answers(trial)


@scenario("fifty cycles", alone=True, is_long=True, bound_seconds=500)
async def fifty_cycles(trial: Trial) -> None:
    await cycles(trial, 50)


@scenario(
    "pending for longer than records are kept (300 s)",
    Flags(startup_timeout_seconds=None),
    alone=True,
    is_long=True,
    bound_seconds=500,
)
async def eviction(trial: Trial) -> None:
    client = await trial.client()
    engine = await trial.engine(health=Health.DOWN)
    handle = RegistrationHandle(router=client.router_url, spec=spec_of(engine))
    trial.found.append(f"after 380 s: {await outcome(client.register(handle, timeout=380))}")
    comes_up(engine, 0)
    trial.found.append(f"then the engine starts: {await outcome(client.wait_until_active(handle, timeout=60))}")


# More than any release's queue holds (1,010), and what waits besides, so that a job that ends makes room for one of those.
_DEAD_URLS, _AT_ONCE = 1_150, 20


async def fill(trial: Trial) -> bool:
    """Submit dead URLs in plain HTTP until none is answered for 5 s, and return whether it came to that.

    Those that have no answer go on waiting for one until the scenario is over.
    """
    http = await trial.stack.enter_async_context(http_client(trial.place.url))
    # Nobody listens on any of these addresses of the loopback interface.
    urls = (f"http://127.1.{number // 250}.{number % 250 + 1}:30000" for number in range(_DEAD_URLS))
    answered = asyncio.Event()

    async def post() -> None:
        for url in urls:
            (await http.post("/workers", json={"url": url}, timeout=None)).raise_for_status()
            answered.set()

    posts = [asyncio.create_task(post()) for _ in range(_AT_ONCE)]

    async def end() -> None:
        for task in posts:
            task.cancel()
        await asyncio.gather(*posts, return_exceptions=True)

    trial.stack.push_async_callback(end)
    while not all(task.done() for task in posts):
        answered.clear()
        try:
            await asyncio.wait_for(answered.wait(), 5)
        except TimeoutError:
            return True
    return False


# 100 s to fill the queue when all routers are filled at once; 5 and 5 and 10 and 20 s while it is full; 30 s to start again, and
# 30 and 60 s after that. Nothing waits for the queue to empty: on 0.2.2 that takes an hour, with 36 s for each 10 dead URLs.
@scenario("full queue", Flags(startup_timeout_seconds=None), alone=True, is_long=True, is_heavy=True, bound_seconds=260)
async def full_queue(trial: Trial) -> None:
    client = await trial.client(request_timeout_seconds=5.0)
    old = await trial.register(client, spec_of(await trial.engine()))
    is_full = await fill(trial)
    trial.found.append("1,150 dead URLs: " + ("no answer after about 1,010" if is_full else "all accepted"))

    handle = RegistrationHandle(router=client.router_url, spec=spec_of(await trial.engine()))
    submitted = await outcome(client.submit(handle))
    if submitted == "done":
        submitted = await outcome(client.wait_until_active(handle, timeout=60))
    trial.found.append(f"one more, its engine is up: {submitted}")
    if is_full:
        trial.found.append(f"reconciled: {(await client.reconcile(handle, timeout=10)).state}")
    removed = await outcome(client.remove(old, timeout=20))
    left = "still listed" if old.url in await listed(client) else "not listed"
    trial.found.append(f"removal of an active worker: {removed}, {left}")

    await trial.place.stop()
    await trial.place.start()
    restarted = await client.reconcile(handle, timeout=30, settle_seconds=5)
    trial.found.append(f"router restarted, reconciled: {restarted.state}")
    await trial.register(client, handle.spec)
    trial.found.append("submitted again: active")

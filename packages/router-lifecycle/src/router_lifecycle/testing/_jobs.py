"""The jobs of a router, as processes over its state. Each holds one of the router's job slots until it returns."""

from collections.abc import Generator
from dataclasses import dataclass

from router_lifecycle.testing._state import Entry, PostedWorker, Process, RouterState
from router_lifecycle.testing.engine import FakeEngine, Health
from router_lifecycle.testing.profiles import IdKind

# A probe of an engine that hangs is given up after this, as long as the start-up time-out allows.
_PROBE_TIMEOUT_SECONDS = 5.0
_WORKFLOW_MARGIN_SECONDS = 30.0
_DP_DISCOVERY_SECONDS = 2.5


@dataclass(frozen=True, slots=True)
class _Failure:
    message: str


def add_worker(state: RouterState, posted: PostedWorker) -> Process:
    """Probe a worker and list it, in the order of the release."""
    if state.profile.registers_first:
        return _list_then_probe(state, posted)
    return _probe_then_list(state, posted)


def remove_worker(state: RouterState, url: str) -> Process:
    """Take the worker of a URL out of the list; SMG lets it drain first."""
    if state.profile.is_smg:
        return _drain_then_remove(state, url)
    return _remove_at_once(state, url)


def update_worker(state: RouterState, entry: Entry, posted: PostedWorker) -> Process:
    """Change what is known of a listed worker."""
    started = state.now
    yield 0.0005
    entry.posted = posted
    yield state.poll_after(started)
    state.records.pop(entry.url, None)


def _list_then_probe(state: RouterState, posted: PostedWorker) -> Process:
    """The way of 0.2.0."""
    url = posted.url
    if state.entries_of(url):
        state.record("AddWorker", url, "failed", f"Worker {url} already exists")
        return
    health = state.health_of(url)
    engine = _readable(state, posted) if health in (Health.HEALTHY, Health.LOADING) else None
    yield state.profile.register_seconds
    if state.entries_of(url):
        state.record("AddWorker", url, "failed", f"Worker {url} already exists")
        return
    entry = Entry(id=state.id_of(url), url=url, posted=posted, engine=engine, is_healthy=False)
    state.list_entry(entry)
    deadline = state.now + state.startup_timeout_seconds
    while state.health_of(url) is not Health.HEALTHY:
        yield _PROBE_TIMEOUT_SECONDS if state.health_of(url) is Health.HANGING else 0.0
        yield state.profile.probe_gaps_seconds[0]
        if state.now >= deadline:
            reason = f"Timeout {state.startup_timeout_seconds:g}s waiting for worker to become healthy"
            message = f"Health check failed for {url}: Health check failed for worker {url}: {reason}"
            state.record("AddWorker", url, "failed", message)
            return
    if state.entries.get(entry.id) is entry:
        state.set_health(entry, is_healthy=True)
    state.records.pop(url, None)


def _probe_then_list(state: RouterState, posted: PostedWorker) -> Process:
    """The way of 0.2.2 and all later ones."""
    started = state.now
    failure = yield from _wait_until_usable(state, posted.url)
    if failure is None:
        yield state.profile.register_seconds
        failure = yield from _list(state, posted)
    if failure is None:
        yield state.profile.finish_seconds
    yield state.poll_after(started)
    state.creating.pop(posted.url, None)
    if failure is None:
        state.records.pop(posted.url, None)
    elif state.profile.is_smg:
        # No trace of a failure is kept, and the next attempt gets another id.
        state.records.pop(posted.url, None)
        state.reserved_ids.pop(posted.url, None)
    else:
        state.record("AddWorker", posted.url, "failed", failure.message)


def _wait_until_usable(state: RouterState, url: str) -> Generator[float, None, _Failure | None]:
    profile, started = state.profile, state.now
    workflow_seconds = state.startup_timeout_seconds + _WORKFLOW_MARGIN_SECONDS
    if profile.is_smg:
        last_probe_seconds = workflow_seconds
    else:
        last_probe_seconds = profile.last_probe_seconds or state.startup_timeout_seconds
    gaps, waited_seconds = list(profile.probe_gaps_seconds), 0.0
    while True:
        health = state.health_of(url)
        if health is Health.HEALTHY or (health is Health.LOADING and profile.takes_any_health_answer):
            return None
        yield _PROBE_TIMEOUT_SECONDS if health is Health.HANGING else 0.0
        gap = gaps.pop(0) if len(gaps) > 1 else gaps[0]
        # What the probes themselves take doesn't count, except for the time-out of the whole job.
        waited_seconds += gap
        elapsed_seconds = state.now - started
        if elapsed_seconds + gap > workflow_seconds:
            yield max(0.0, workflow_seconds - elapsed_seconds)
            return _Failure(f"Workflow timeout after {workflow_seconds:g}s for worker {url}")
        if waited_seconds > last_probe_seconds:
            return _Failure(_probe_failure(state, url, health))
        yield gap


def _probe_failure(state: RouterState, url: str, health: Health) -> str:
    step = "Workflow failed at step detect_connection_mode: Step"
    if health is Health.HANGING:
        return f"{step} timeout after {_PROBE_TIMEOUT_SECONDS:g}s"
    http = {
        Health.DOWN: f"error sending request for url ({url}/health)",
        Health.LOADING: f"HTTP status server error (503 Service Unavailable) for url ({url}/health)",
    }[health]
    tried = "" if state.profile.version == "0.2.2" else "gRPC failed (tried SGLang and vLLM): "
    return (
        f"{step} failed: detect_connection_mode - Both HTTP and gRPC health checks failed for {url}: "
        f"HTTP: Health check failed: {http}, gRPC: {tried}gRPC connection failed: transport error"
    )


def _list(state: RouterState, posted: PostedWorker) -> Generator[float, None, _Failure | None]:
    engine = _readable(state, posted)
    if engine is None and state.engine_of(posted.url) is not None:
        yield state.profile.unreadable_seconds
    if state.options.dp_aware:
        if engine is None or not engine.tells_server_info:
            yield _DP_DISCOVERY_SECONDS - state.profile.register_seconds
            path = "get_server_info" if state.profile.ids is IdKind.UUID4 else "server_info"
            return _Failure(
                "Workflow failed at step discover_dp_info: Step failed: discover_dp_info - Failed to get DP info: "
                f"Server returned status 404 Not Found from {posted.url}/{path}"
            )
        if state.profile.is_smg and state.ranks_of(posted.url):
            return _exists(posted.url)
        if engine.dp_size > 1 or not state.profile.is_smg:
            _list_ranks(state, posted, engine)
            return None
    url = f"http://{posted.url}" if "://" not in posted.url and state.profile.completes_url else posted.url
    known = engine if url == posted.url else None
    entry = Entry(id=state.id_of(url), url=url, posted=posted, engine=known, is_healthy=True)
    if _fails_at_random(state):
        return _fail_at_random(state, entry)
    if state.entries_of(url):
        return _exists(url)
    state.list_entry(entry)
    return None


def _list_ranks(state: RouterState, posted: PostedWorker, engine: FakeEngine) -> None:
    for rank in range(engine.dp_size):
        url = f"{posted.url}@{rank}"
        entry = Entry(id=state.id_of(url), url=url, posted=posted, engine=engine, is_healthy=True, dp_rank=rank)
        state.list_entry(entry)


def _fails_at_random(state: RouterState) -> bool:
    rate = state.options.random_failure_rate
    return bool(rate) and state.random.random() < rate


def _fail_at_random(state: RouterState, entry: Entry) -> _Failure:
    """Fail without a reason: mostly with the worker listed and healthy, sometimes with nothing listed."""
    if state.random.random() < 0.15:
        return _Failure("Workflow failed at step create_worker: Unknown error")
    if not state.entries_of(entry.url):
        state.list_entry(entry)
    return _exists(entry.url)


def _exists(url: str) -> _Failure:
    return _Failure(f"Workflow failed at step create_worker: Step failed: create_worker - Worker {url} already exists")


def _readable(state: RouterState, posted: PostedWorker) -> FakeEngine | None:
    """Return the engine if it tells the router about itself: only the posted key counts, never the router's own."""
    engine = state.engine_of(posted.url)
    return engine if engine is not None and engine.accepts(posted.api_key) else None


def _missing(state: RouterState, url: str) -> str:
    if state.options.dp_aware and not state.profile.is_smg:
        reason = f"No workers found with prefix {url}@"
    else:
        reason = f"Worker {url} not found"
    if state.profile.registers_first:
        return reason
    return f"Workflow failed at step find_workers_to_remove: Step failed: find_workers_to_remove - {reason}"


def _remove_at_once(state: RouterState, url: str) -> Process:
    started = state.now
    yield 0.001
    targets = state.ranks_of(url) if state.options.dp_aware else state.entries_of(url)
    failed = bool(targets) and _fails_at_random(state)
    for entry in targets if not failed else ():
        state.drop_entry(entry)
    if not state.profile.registers_first:
        yield state.poll_after(started)
    if failed:
        message = "Workflow failed at step find_workers_to_remove: Unknown error"
        state.record("RemoveWorker", url, "failed", message)
    elif targets:
        state.records.pop(url, None)
    else:
        state.record("RemoveWorker", url, "failed", _missing(state, url))


def _drain_then_remove(state: RouterState, url: str) -> Process:
    started = state.now
    yield 0.002
    targets = state.entries_of(url)
    if not targets:
        yield state.poll_after(started)
        state.record("RemoveWorker", url, "failed", _missing(state, url))
        return
    if targets[0].is_healthy:
        targets[0].is_draining = True
        state.set_health(targets[0], is_healthy=False)
        state.tell("draining", targets[0])
        yield state.options.drain_seconds - 0.002
    # By URL and not by id: whoever was registered there meanwhile goes.
    for entry in state.entries_of(url):
        state.drop_entry(entry)
    yield state.poll_after(started)
    state.records.pop(url, None)

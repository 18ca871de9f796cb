"""From a registry's list to the sources worth trying."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_selection import (
    AttemptOutcome,
    Candidate,
    CandidateFilter,
    Fate,
    InFlight,
    LoadAware,
    MalformedCandidateError,
    MetadataMissError,
    NoSourceLeftError,
    RendezvousHash,
    SelectionPipeline,
    SettingError,
    Target,
    accelerators_compatible,
    attempt,
    candidate_from,
)

NOW_MS = 1_000_000
TARGET = Target("m", "t", 0, endpoint="10.0.0.1:7000", accelerator="cuda")
FLEET = [Candidate("s", f"w{n}", 0, updated_at_ms=NOW_MS - 1_000) for n in range(5)]


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class FieldPresence(SimpleNamespace):
    """Answers HasField as a message of modelexpress does: only optional fields can be asked for."""

    def HasField(self, name: str) -> bool:  # noqa: N802 - protobuf's name
        if name != "source_load":
            raise ValueError(f"{name} has no presence")
        return "source_load" in self.given


def pipeline(clock: Clock | None = None, limit: int | None = 3) -> SelectionPipeline:
    return SelectionPipeline(RendezvousHash(), limit=limit, now_ms=lambda: NOW_MS, monotonic=clock or Clock())


def reasons(candidate: Candidate) -> str | None:
    refusal = CandidateFilter().reason(candidate, TARGET, NOW_MS)
    return None if refusal is None else refusal[1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"worker_id": "t"}, "it is the target itself"),
        ({"endpoint": "10.0.0.1:7000"}, "its endpoint 10.0.0.1:7000 is the target's own: an earlier process of it"),
        ({"endpoint": "10.0.0.1:7001"}, None),
        ({"worker_rank": 1}, "rank 1, the target wants 0"),
        ({"status": "STALE"}, "status STALE, not READY"),
        ({"status": "Ready"}, None),
        ({"updated_at_ms": 0}, "no heartbeat yet"),
        ({"updated_at_ms": NOW_MS - 91_000}, "heartbeat 91 s > 90 s"),
        ({"updated_at_ms": NOW_MS - 90_000}, None),
        ({"updated_at_ms": NOW_MS + 5_000}, None),
        ({"updated_at_ms": None}, None),
        ({"accelerator": "rocm"}, "accelerator rocm doesn't suit cuda"),
        ({"accelerator": "xpu"}, None),
    ],
)
def test_a_source_is_dropped_for_a_stated_reason(changes: dict[str, object], reason: str | None) -> None:
    assert reasons(replace(FLEET[0], **changes)) == reason  # type: ignore[arg-type] # a table of fields


def test_weights_that_are_quantised_do_not_cross_accelerators() -> None:
    assert accelerators_compatible("cuda", "xpu")
    assert not accelerators_compatible("cuda", "xpu", plain_weights=False)
    assert accelerators_compatible("cuda", "", plain_weights=False)
    assert accelerators_compatible(" CUDA", "cuda", plain_weights=False)


def test_any_age_is_taken_where_none_is_asked_for() -> None:
    assert CandidateFilter(max_age_ms=None).reason(replace(FLEET[0], updated_at_ms=1), TARGET, NOW_MS) is None


def test_two_empty_endpoints_are_not_the_same_place() -> None:
    source = Candidate("s", "w", 0, endpoint="")
    assert pipeline().select([source], Target("m", "t", 0, endpoint="")).sources == (source,)


def test_a_selection_is_filtered_ordered_and_capped() -> None:
    other = Candidate("s", "other", 3)
    selection = pipeline().select([other, *FLEET], TARGET)
    ranked = RendezvousHash().order(FLEET, TARGET)
    assert selection.sources == tuple(ranked[:3])
    assert [verdict.candidate for verdict in selection.verdicts] == [*ranked, other]
    assert [verdict.fate for verdict in selection.verdicts] == [Fate.CHOSEN] * 3 + [Fate.CANDIDATE] * 2 + [Fate.DROPPED]
    assert pipeline(limit=None).select(FLEET, TARGET).sources == tuple(ranked)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (object(), "mx_source_id is empty or missing"),
        (Candidate("s", "", 0), "worker_id is empty or missing"),
        (Candidate("s", "\ud800", 0), "worker_id='\\ud800' is not a text that UTF-8 can carry"),
        (SimpleNamespace(mx_source_id="s", worker_id="w", worker_rank=None), "worker_rank=None is not an integer"),
        (SimpleNamespace(mx_source_id="s", worker_id="w", worker_rank=True), "worker_rank=True is not an integer"),
        (
            SimpleNamespace(mx_source_id="s", worker_id="w", worker_rank=0, source_load="0.5"),
            "source_load='0.5' is not a",
        ),
        (
            SimpleNamespace(mx_source_id="s", worker_id="w", worker_rank=0, updated_at=1.5),
            "updated_at_ms=1.5 is not a time",
        ),
        (Candidate("s", "w", 0, accelerator=7), "accelerator=7 is not a text"),  # type: ignore[arg-type] # from anywhere
        (Candidate("s", "w", 0, endpoint=7), "endpoint=7 is not a text"),  # type: ignore[arg-type] # from anywhere
        (Candidate("s", "w", 2**32), "worker_rank=4294967296 is not an integer of 0 to 4294967295"),
        (Candidate("s", "w", 10**5000), "it can't be read: ValueError"),
        (
            SimpleNamespace(mx_source_id="s", worker_id="w", worker_rank=0, topology=["zone"]),
            "topology=['zone'] is not a",
        ),
    ],
)
def test_a_malformed_entry_is_dropped_and_costs_none_of_the_others(entry: object, why: str) -> None:
    selection = pipeline(limit=None).select([FLEET[0], entry, FLEET[1]], TARGET)
    assert sorted(c.worker_id for c in selection.sources) == ["w0", "w1"]
    *_, last = selection.verdicts
    assert (last.entry, last.candidate, last.fate) == (entry, None, Fate.DROPPED)
    assert why in last.reason


def test_an_entry_that_raises_when_read_is_malformed() -> None:
    class Hostile:
        @property
        def worker_id(self) -> str:
            raise OSError("gone")

    with pytest.raises(MalformedCandidateError, match="it can't be read: OSError: gone"):
        candidate_from(Hostile())


def test_a_message_with_field_presence_is_read_as_a_candidate() -> None:
    fields = {
        "mx_source_id": "s",
        "worker_id": "w",
        "worker_rank": 2,
        "source_load": 0.0,
        "updated_at": 17,
        "status": 2,
    }
    unset = FieldPresence(**fields, given=[], topology={"zone": "a"}, accelerator="cuda")
    assert candidate_from(unset) == Candidate(
        "s", "w", 2, None, topology={"zone": "a"}, updated_at_ms=17, accelerator="cuda", status="READY"
    )
    assert candidate_from(FieldPresence(**fields, given=["source_load"])).source_load == 0.0
    plain = SimpleNamespace(
        mx_source_id="s",
        worker_id="w",
        worker_rank=0,
        source_load=0.7,
        worker_grpc_endpoint="h:1",
        accelerator=None,
        status=None,
    )
    assert candidate_from(plain) == Candidate("s", "w", 0, 0.7, endpoint="h:1")


def test_a_source_that_failed_comes_last_until_its_cool_down_is_over() -> None:
    clock = Clock()
    chosen = pipeline(clock, limit=2)
    first, second, *_ = chosen.select(FLEET, TARGET).sources
    chosen.attempted(first, AttemptOutcome.TRANSFER_RETRY, 1.0)
    after = chosen.select(FLEET, TARGET)
    assert first not in after.sources
    assert after.sources[0] == second
    verdict = after.verdicts[-1]
    assert (verdict.candidate, verdict.fate) == (first, Fate.COOLING)
    assert verdict.reason == "a pull from it failed; last for 60 s more"
    clock.seconds = 60.0
    assert chosen.select(FLEET, TARGET).sources[0] == first
    chosen.attempted(first, AttemptOutcome.TRANSFER_RETRY, 1.0)
    chosen.attempted(first, AttemptOutcome.SUCCESS, 1.0)
    assert chosen.select(FLEET, TARGET).sources[0] == first


def test_the_only_source_is_tried_though_it_failed() -> None:
    chosen = pipeline()
    chosen.attempted(FLEET[0], AttemptOutcome.TRANSFER_FALLBACK, 1.0)
    assert chosen.select(FLEET[:1], TARGET).sources == (FLEET[0],)


def test_one_source_listed_twice_has_two_fates() -> None:
    selection = pipeline(limit=1).select([FLEET[0], FLEET[0]], TARGET)
    assert selection.sources == (FLEET[0],)
    assert [verdict.fate for verdict in selection.verdicts] == [Fate.CHOSEN, Fate.CANDIDATE]


def test_a_load_of_any_size_is_a_load() -> None:
    huge = Candidate("s", "w", 0, 10**400)
    selection = SelectionPipeline(LoadAware()).select([huge, Candidate("s", "v", 0, 0.0)], TARGET)
    assert [c.worker_id for c in selection.sources] == ["v", "w"]


def test_nothing_listed_is_nothing_to_try() -> None:
    selection = pipeline().select([], TARGET)
    assert (selection.sources, selection.verdicts) == ((), ())


@given(
    st.lists(
        st.builds(
            Candidate,
            st.text(max_size=2),
            st.sampled_from(["t", "w", "\ud800", ""]),
            st.integers(-1, 1),
            st.none() | st.floats(),
            updated_at_ms=st.none() | st.integers(),
        )
        | st.sampled_from([None, 7, "x"])
    )
)
def test_every_entry_has_exactly_one_fate(listed: list[object]) -> None:
    selection = pipeline().select(listed, TARGET)
    assert sorted(id(v.entry) for v in selection.verdicts) == sorted(map(id, listed))


async def test_the_next_source_is_tried_when_one_refuses() -> None:
    tried = []

    async def pull(candidate: Candidate) -> str:
        tried.append(candidate.worker_id)
        if len(tried) < 3:
            raise ConnectionRefusedError("not ready")
        return "weights"

    clock = Clock()
    chosen = pipeline(clock, limit=None)
    source, weights = await attempt(FLEET, pull, feedback=chosen)
    assert (source, weights, tried) == (FLEET[2], "weights", ["w0", "w1", "w2"])
    cooling = [v.candidate for v in chosen.select(FLEET, TARGET).verdicts if v.fate is Fate.COOLING]
    assert {c.worker_id for c in cooling if c} == {"w0", "w1"}


async def test_a_feedback_that_raises_is_logged_and_loses_no_weights(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def attempted(self, candidate: Candidate, *_: object) -> None:
            raise RuntimeError(f"nobody counts {candidate.worker_id}")

    async def pull(candidate: Candidate) -> str:
        return f"weights of {candidate.worker_id}"

    assert await attempt(FLEET, pull, feedback=Broken()) == (FLEET[0], "weights of w0")
    assert "a feedback failed; the attempt stands" in caplog.text
    assert "nobody counts w0" in caplog.text


async def test_missing_metadata_uses_no_attempt_up() -> None:
    async def pull(candidate: Candidate) -> str:
        if candidate.worker_id in ("w0", "w1", "w2"):
            raise MetadataMissError("no record")
        if candidate.worker_id == "w3":
            raise OSError("broken")
        return "weights"

    source, _ = await attempt(FLEET, pull, budget=2)
    assert source == FLEET[4]


async def test_a_used_up_budget_tells_every_failure() -> None:
    async def pull(candidate: Candidate) -> str:
        raise OSError(f"{candidate.worker_id} broke")

    with pytest.raises(NoSourceLeftError) as caught:
        await attempt(FLEET, pull, budget=2)
    assert [(c.worker_id, str(error)) for c, error in caught.value.failures] == [("w0", "w0 broke"), ("w1", "w1 broke")]
    assert str(caught.value) == (
        "2 of at most 2 pulls failed and the budget is used up: w0: OSError: w0 broke; w1: OSError: w1 broke"
    )
    with pytest.raises(NoSourceLeftError, match="there is no source to pull from"):
        await attempt([], pull)
    with pytest.raises(NoSourceLeftError, match="1 of at most 3 pulls failed and no source is left"):
        await attempt(FLEET[:1], pull)


async def test_a_pull_past_its_deadline_is_cancelled_and_counts_as_failed() -> None:
    ended = []

    async def pull(candidate: Candidate) -> str:
        if candidate.worker_id == "w0":
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(candidate.worker_id)
        return "weights"

    in_flight = InFlight(load_per_pull=1.0)
    source, _ = await attempt(FLEET, pull, deadline_seconds=0.01, in_flight=in_flight)
    assert (source, ended) == (FLEET[1], ["w0"])
    with pytest.raises(NoSourceLeftError, match=r"w0: TimeoutError: not done within 0\.01 s"):
        await attempt(FLEET[:1], pull, deadline_seconds=0.01)
    assert in_flight(FLEET[0]) is None


async def test_cancelling_the_attempt_cancels_the_pull_and_tries_no_other() -> None:
    started = asyncio.Event()
    tried = []

    async def pull(candidate: Candidate) -> str:
        tried.append(candidate)
        started.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(attempt(FLEET, pull))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tried == FLEET[:1]


@pytest.mark.parametrize(
    ("arguments", "setting"), [({"budget": 0}, "budget"), ({"deadline_seconds": 0}, "deadline_seconds")]
)
async def test_an_attempt_out_of_range_is_refused(arguments: dict[str, int], setting: str) -> None:
    async def pull(candidate: Candidate) -> str:
        return candidate.worker_id

    with pytest.raises(SettingError, match=f"{setting}=0 is not allowed"):
        await attempt(FLEET, pull, **arguments)  # type: ignore[arg-type] # a table of settings


@pytest.mark.parametrize(
    ("arguments", "setting"), [({"limit": 0}, "limit"), ({"cool_down_seconds": -1}, "cool_down_seconds")]
)
def test_a_pipeline_out_of_range_is_refused(arguments: dict[str, int], setting: str) -> None:
    with pytest.raises(SettingError, match=f"{setting}=.* is not allowed"):
        SelectionPipeline(RendezvousHash(), **arguments)  # type: ignore[arg-type] # a table of settings

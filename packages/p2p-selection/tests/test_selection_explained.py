"""Why each source is where it is, and what a hook sees of it."""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_selection import (
    AdjustedLoads,
    AttemptOutcome,
    BoundedLoad,
    Candidate,
    DropReason,
    Fate,
    InFlight,
    LoadAware,
    MetadataLookupError,
    MetadataMissError,
    NoSourceLeftError,
    RandomOrder,
    RendezvousHash,
    ScoredSelector,
    Selection,
    SelectionPipeline,
    Spread,
    Stage,
    Target,
    TopologyAware,
    attempt,
    rendezvous_digest,
)

NOW_MS = 1_000_000
TARGET = Target("m", "t", 0, accelerator="cuda", topology={"zone": "a", "rack": "7"})
POLICIES = [RendezvousHash(), LoadAware(), TopologyAware(weight=1.0), Spread(), BoundedLoad()]
LOADS = st.none() | st.integers(0, 64).map(lambda step: step / 64)
PLACES = st.dictionaries(st.sampled_from(("zone", "rack")), st.sampled_from("a7"))


def source(worker: str, load: float | None = None, **more: object) -> Candidate:
    return Candidate("s", worker, 0, load, **more)  # type: ignore[arg-type] # a table of fields


class Watcher:
    """A hook that keeps what it is told."""

    def __init__(self) -> None:
        self.selections: list[tuple[Selection, float]] = []
        self.failures: list[tuple[str, str]] = []
        self.attempts: list[tuple[str, str, str, float, str]] = []

    def selected(self, selection: Selection, seconds: float) -> None:
        self.selections.append((selection, seconds))

    def listing_failed(self, policy: str, error: Exception) -> None:
        self.failures.append((policy, str(error)))

    def attempted(
        self, policy: str, candidate: Candidate, outcome: AttemptOutcome, seconds: float, error: Exception | None
    ) -> None:
        self.attempts.append((policy, candidate.worker_id, outcome, seconds, repr(error)))


class Ticks:
    """A clock that is a second later each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def pipeline(
    selector: ScoredSelector | RandomOrder | AdjustedLoads | None = None, hook: Watcher | None = None, limit: int = 1
) -> SelectionPipeline:
    return SelectionPipeline(
        selector or LoadAware(), limit=limit, hook=hook, now_ms=lambda: NOW_MS, monotonic=lambda: 0.0
    )


def test_an_explanation_has_fate_digest_hash_load_penalty_and_score() -> None:
    listed = [source("w", 0.25), source("v", None), source("old", 0.0, updated_at_ms=NOW_MS - 131_000)]
    first, second, dropped = pipeline(LoadAware(weight=2.0)).explain(listed, TARGET)
    assert (first.place, first.fate, first.load, first.why) == (1, Fate.CHOSEN, 0.25, "")
    assert first.account is not None
    assert first.account.digest == rendezvous_digest(listed[0], TARGET)
    assert first.account.unit_hash == first.account.digest / 2**64
    assert first.account.penalty == 0.5
    assert first.account.score == first.account.unit_hash - 0.5
    assert (second.fate, second.load, second.why) == (Fate.CANDIDATE, None, "load unknown: counts as 0.50")
    assert second.account is not None
    assert second.account.penalty == 1.0
    assert (dropped.place, dropped.candidate, dropped.account) == (None, listed[2], None)
    assert (dropped.fate, dropped.drop_reason, dropped.why) == (
        Fate.DROPPED,
        DropReason.STALE,
        "heartbeat 131 s > 90 s",
    )


@pytest.mark.parametrize("selector", POLICIES, ids=lambda selector: selector.name)
@settings(max_examples=50)
@given(rows=st.lists(st.tuples(LOADS, PLACES), max_size=10))
def test_sources_rank_by_the_tier_score_and_digest_that_are_told(
    selector: ScoredSelector, rows: list[tuple[float | None, dict[str, str]]]
) -> None:
    listed = [source(f"w{number}", load, topology=place) for number, (load, place) in enumerate(rows)]
    accounts = selector.accounts(listed, TARGET)
    told = sorted(zip(accounts, listed, strict=True), key=lambda pair: (pair[0].tier, pair[0].score, pair[0].digest))
    assert [candidate for _, candidate in told[::-1]] == selector.order(listed, TARGET)


@pytest.mark.parametrize(
    ("selector", "load", "why"),
    [
        (RendezvousHash(), 0.9, ""),
        (Spread(), 0.9, ""),
        (BoundedLoad(), 0.9, "load above 0.75, the bound: after all within it"),
        (TopologyAware(), 0.9, "same rack"),
        (RandomOrder(seed=1), 0.9, ""),
    ],
)
def test_a_policy_says_what_else_decided(selector: ScoredSelector | RandomOrder, load: float, why: str) -> None:
    busy = source("busy", load, topology={"zone": "a", "rack": "7"})
    rows = pipeline(selector).explain([busy, *(source(f"w{n}", 0.5) for n in range(3))], TARGET)
    (row,) = (row for row in rows if row.candidate is busy)
    assert row.why == why
    assert (row.account is None) == (selector.name == "random")


def test_spread_takes_off_what_a_full_source_lacks() -> None:
    idle, full = Spread().accounts([source("w", 0.0), source("w", 1.0)], TARGET)
    assert str(idle.penalty) == "0.0"
    assert full.penalty == pytest.approx(2.302585)
    assert idle.score - full.score == pytest.approx(2.302585)


def test_a_load_that_this_process_knows_better_is_explained() -> None:
    in_flight = InFlight(load_per_pull=0.25)
    listed = [source("w", 0.25)]
    with in_flight.pulling(listed[0]):
        (row,) = pipeline(AdjustedLoads(LoadAware(), in_flight)).explain(listed, TARGET)
    assert (row.load, row.why) == (0.25, "load adjusted: counts as 0.50")
    (row,) = pipeline(AdjustedLoads(RandomOrder(), in_flight)).explain(listed, TARGET)
    assert row.account is None


def test_a_cooling_source_says_so() -> None:
    chosen = pipeline()
    listed = [source("w"), source("v")]
    chosen.attempted(listed[0], AttemptOutcome.TRANSFER_RETRY, 1.0)
    last = chosen.explain(listed, TARGET)[-1]
    assert (last.candidate, last.fate) == (listed[0], Fate.COOLING)
    assert last.why.startswith("a pull from it failed; last for 60 s more; load unknown")


def test_every_reason_is_counted_and_the_funnel_narrows_stage_by_stage() -> None:
    listed: Sequence[object] = [
        source("w"),
        source("v"),
        Candidate("s", "u", 1),
        source("t"),
        source("late", updated_at_ms=1),
        source("gone", status="STALE"),
        source("amd", accelerator="rocm"),
        SimpleNamespace(worker_id="x"),
    ]
    selection = pipeline().select(listed, TARGET)
    assert selection.dropped == dict.fromkeys(DropReason, 1)
    assert selection.funnel == {Stage.LISTED: 8, Stage.RANK_MATCHED: 6, Stage.ACCELERATOR_MATCHED: 2}
    assert set(pipeline().select([], TARGET).funnel.values()) == {0}


def test_a_hook_sees_selections_failed_listings_and_attempts_but_no_explanations() -> None:
    hook = Watcher()
    chosen = SelectionPipeline(LoadAware(), hook=hook, now_ms=lambda: NOW_MS, monotonic=Ticks())
    selection = chosen.select([source("w")], TARGET)
    chosen.explain([source("w")], TARGET)
    chosen.listing_failed(OSError("no registry"))
    chosen.attempted(source("w"), AttemptOutcome.SUCCESS, 2.0)
    assert hook.selections == [(selection, 1.0)]
    assert selection.policy == "load_aware"
    assert hook.failures == [("load_aware", "no registry")]
    assert hook.attempts == [("load_aware", "w", "success", 2.0, "None")]


async def test_every_attempt_is_told_with_its_outcome() -> None:
    hook = Watcher()
    chosen = pipeline(hook=hook)
    fleet = [source(f"w{number}") for number in range(5)]
    errors: Iterable[Exception] = iter(
        [MetadataMissError("none"), OSError("broken"), MetadataLookupError("down"), OSError("broken")]
    )

    async def pull(candidate: Candidate) -> None:
        assert candidate in fleet
        raise next(iter(errors))

    with pytest.raises(NoSourceLeftError):
        await attempt(fleet, pull, budget=2, feedback=chosen, monotonic=Ticks())
    assert [(worker, outcome, seconds) for _, worker, outcome, seconds, _ in hook.attempts] == [
        ("w0", "metadata_miss", 1.0),
        ("w1", "transfer_retry", 1.0),
        ("w2", "metadata_miss", 1.0),
        ("w3", "transfer_fallback", 1.0),
    ]
    assert hook.attempts[2][-1] == "MetadataLookupError('down')"
    cooling = {v.candidate for v in chosen.select(fleet, TARGET).verdicts if v.fate is Fate.COOLING}
    assert cooling == {fleet[1], fleet[3]}


async def test_a_failure_of_the_last_source_is_no_retry() -> None:
    hook = Watcher()

    async def pull(candidate: Candidate) -> None:
        raise OSError(candidate.worker_id)

    with pytest.raises(NoSourceLeftError):
        await attempt([source("w")], pull, feedback=pipeline(hook=hook))
    assert [outcome for _, _, outcome, _, _ in hook.attempts] == ["transfer_fallback"]


def test_a_hook_that_fails_costs_nobody_a_source(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Watcher):
        def selected(self, selection: Selection, seconds: float) -> None:
            raise RuntimeError(f"{selection.policy} {seconds}")

    assert pipeline(hook=Broken()).select([source("w")], TARGET).sources == (source("w"),)
    assert "a selection hook failed; the selection stands" in caplog.text

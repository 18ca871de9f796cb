"""The client against the fake router, with calls, transitions, lost answers, restarts and evictions in any order."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import httpx
import pytest
from fake_router_talk import ALL, SMG
from hypothesis import Phase as Stage_
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from lifecycle_truth import Submission, Truth

from router_lifecycle import (
    HttpxTransport,
    OperationError,
    Phase,
    ReconciledState,
    RegistrationFailed,
    RegistrationHandle,
    RegistrationLost,
    RouterLifecycleClient,
    SubmissionUnknown,
    WorkerSpec,
)
from router_lifecycle.testing import (
    EPOCH_SECONDS,
    FakeEngine,
    FakeRouter,
    Health,
    ManualClock,
    RouterOptions,
    Stage,
    delay,
    html_page,
    lose_answer,
    lose_request,
    reset,
    server_error,
    too_many_requests,
)
from router_lifecycle.testing._routes import Request, answer_to

ROUTER = "http://router:30000"
URLS = ("http://10.0.0.1:30000", "http://10.0.0.2:30000")
STARTUP_SECONDS = 20.0
# The time-out of a start-up and 30 s, the probe that hangs at its end, the router's last poll, and the ticks of the others.
HORIZON_SECONDS = 70.0

# Hypothesis draws each with the same chance: what is common stands more than once.
STEPS_SECONDS = st.sampled_from([0.0, 0.02, 0.07, 0.2, 0.5, 1.0, 3.0, 6.0, 12.0, 30.0, 70.0, 330.0])
TIMEOUTS_SECONDS = st.sampled_from([0.5, 3.0, 20.0, 90.0, 90.0, 400.0])
HOW = st.sampled_from(["fail", "fail", "submit", "submit", "adopt", "replace"])
LATENESS = st.sampled_from(
    [
        (Health.HEALTHY, 0.0),
        (Health.HEALTHY, 0.0),
        (Health.LOADING, 2.0),
        (Health.LOADING, 8.0),
        (Health.DOWN, 8.0),
        (Health.DOWN, 0.0),
        (Health.HANGING, 8.0),
    ]
)
HEALTHS = st.sampled_from([Health.HEALTHY, Health.HEALTHY, Health.LOADING, Health.DOWN, Health.HANGING])
FAULTS = st.sampled_from(
    [
        lose_answer(),
        lose_answer(),
        lose_request(),
        reset(),
        reset(Stage.AFTER),
        delay(0.2),
        delay(2.5),
        too_many_requests(2),
        server_error(503),
        server_error(504, Stage.AFTER),
        html_page(),
        html_page(200, Stage.AFTER),
    ]
)
METHODS = st.sampled_from(["POST", "POST", "DELETE", "DELETE", "GET"])
WHICH = st.integers(0, 7)


class LifecycleMachine(RuleBasedStateMachine):
    """Operations run as tasks on one clock, at most one per URL; after each step the claims are held against the router."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.submissions: list[Submission] = []
        self.running: dict[str, asyncio.Task[None]] = {}
        self.changes_until = [0.0, 0.0]
        self.acted: dict[str, float] = {}
        self.restarts = 0

    @initialize(
        version=st.sampled_from(ALL),
        dp=st.sampled_from([1, 1, 1, 2]),
        flaky=st.sampled_from([0.0, 0.0, 0.3]),
        seed=st.integers(0, 3),
    )
    def begin(self, version: str, dp: int, flaky: float, seed: int) -> None:
        self.engines = [FakeEngine(url, dp_size=dp) for url in URLS]
        options = RouterOptions(
            dp_aware=dp > 1,
            startup_timeout_seconds=STARTUP_SECONDS,
            check_interval_seconds=10.0,
            random_failure_rate=flaky if version == "0.3.0" else 0.0,
            seed=seed,
        )
        self.router = FakeRouter(version, engines=self.engines, clock=self.clock, options=options)
        self.truth = Truth(self.router)
        self.ranks = 1 if self.router.profile.version == "0.2.0" else dp
        self.client = self.runner.run(self.a_client(seed))

    async def a_client(self, seed: int) -> RouterLifecycleClient:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.router), trust_env=False)
        return RouterLifecycleClient(
            ROUTER,
            transport=HttpxTransport(ROUTER, client=http),
            worker_startup_timeout_seconds=HORIZON_SECONDS,
            clock=self.clock,
            sleep=self.clock.sleep,
            wall_clock=lambda: EPOCH_SECONDS + self.clock(),
            random=random.Random(seed),
        )

    # What the caller does

    @rule(url=st.sampled_from(URLS), how=HOW, timeout=TIMEOUTS_SECONDS, late=LATENESS, passes=STEPS_SECONDS)
    def register(self, url: str, how: str, timeout: float, late: tuple[Health, float], passes: float) -> None:
        if url in self.running:
            return
        self.engine_is_late(URLS.index(url), *late)
        submission = self.a_submission(url, adopts=how == "adopt")
        self.start(submission, self.registering(submission, how, timeout), passes)

    @rule(
        url=st.sampled_from(URLS),
        late=LATENESS,
        stays=st.sampled_from([0.02, 0.2, 1.0, 3.0, 12.0]),
        timeout=st.sampled_from([3.0, 20.0, 90.0]),
    )
    def a_worker_comes_and_goes(self, url: str, late: tuple[Health, float], stays: float, timeout: float) -> None:
        """Submit where nobody has acted for long, remove it wherever that stands, and look long enough for a ghost."""
        if url in self.running:
            return
        self.settle(HORIZON_SECONDS + 5.0)
        if url in self.running:
            return
        self.engine_is_late(URLS.index(url), *late)
        submission = self.a_submission(url)
        self.start(submission, self.registering(submission, "submit", 90.0), stays)
        self.start(submission, self.removing(submission, timeout, ghost=False), min(timeout, 4.0))
        self.start(submission, self.removing(submission, timeout, ghost=False), 30.0)

    @precondition(lambda self: self.submissions)
    @rule(which=WHICH, timeout=TIMEOUTS_SECONDS, passes=STEPS_SECONDS)
    def register_again(self, which: int, timeout: float, passes: float) -> None:
        submission = self.pick(which)
        self.start(submission, self.registering(submission, "fail", timeout), passes)

    @precondition(lambda self: self.submissions)
    @rule(which=WHICH, timeout=TIMEOUTS_SECONDS, passes=STEPS_SECONDS)
    def reconcile(self, which: int, timeout: float, passes: float) -> None:
        submission = self.pick(which)
        self.start(submission, self.reconciling(submission, timeout), passes)

    @precondition(lambda self: self.submissions)
    @rule(which=WHICH, timeout=TIMEOUTS_SECONDS, ghost=st.booleans(), passes=STEPS_SECONDS)
    def remove(self, which: int, timeout: float, ghost: bool, passes: float) -> None:
        submission = self.pick(which)
        self.start(submission, self.removing(submission, timeout, ghost), passes)

    @precondition(lambda self: self.running)
    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        list(self.running.values())[which % len(self.running)].cancel()
        self.settle(0.0)

    @precondition(lambda self: self.running)
    @rule()
    def everything_ends(self) -> None:
        # No operation has more than 400 s, and the last answer to it may be late.
        for _ in range(45):
            if self.running:
                self.settle(10.0)
        assert not self.running, "an operation goes on beyond its time"

    # What happens to the router and on the way to it

    @rule(seconds=STEPS_SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.settle(seconds)

    @rule(engine=st.sampled_from([0, 1]), health=HEALTHS)
    def an_engine_changes(self, engine: int, health: Health) -> None:
        self.engine_is_late(engine, health, 0.0)

    @rule(fault=FAULTS, method=METHODS, times=st.sampled_from([1, 1, 1, 3]))
    def something_goes_wrong(self, fault: Any, method: str, times: int) -> None:
        # What didn't befall anyone until now would only pile up.
        self.router.faults.clear()
        self.router.faults.add(fault, method=method, path="/workers*", times=times)

    @precondition(lambda self: self.restarts < 2)
    @rule(seconds=st.sampled_from([0.0, 0.0, 1.0, 8.0]))
    def the_router_restarts(self, seconds: float) -> None:
        self.restarts += 1
        self.router.stop()
        self.settle(seconds)
        self.router.restart()
        self.settle(0.0)

    @rule(
        url=st.sampled_from(URLS), method=st.sampled_from(["POST", "DELETE"]), passes=st.sampled_from([0.0, 0.2, 1.0])
    )
    def somebody_else_acts(self, url: str, method: str, passes: float) -> None:
        # On URLs that no operation is about: who removes beside the client can undo any claim a moment later.
        if url in self.running:
            return
        self.disturb(url)
        model = self.router._settled_model()
        if method == "POST":
            body = f'{{"url": "{url}", "priority": 1}}'.encode()
            answer_to(model, Request("POST", "/workers", headers={"content-type": "application/json"}, body=body))
        else:
            for worker in self.router.workers:
                if worker.url.startswith(url):
                    model.remove(worker.worker_id)
        self.settle(passes)

    # How it is done

    def engine_is_late(self, which: int, health: Health, seconds: float) -> None:
        """Let an engine be of a health for some time, and healthy after that; 0 seconds are for good."""
        now = self.clock()
        if self.changes_until[which] > now:
            return
        self.engines[which].becomes(health, at_seconds=now)
        if seconds:
            self.engines[which].becomes(Health.HEALTHY, at_seconds=now + seconds)
            self.changes_until[which] = now + seconds

    def a_submission(self, url: str, *, adopts: bool = False) -> Submission:
        is_alone = self.disturb(url)
        priority = 1000 + len(self.submissions)
        handle = RegistrationHandle(router=ROUTER, spec=WorkerSpec(url=url, priority=priority))
        self.submissions.append(Submission(handle, priority, adopts=adopts, is_alone=is_alone))
        return self.submissions[-1]

    def disturb(self, url: str) -> bool:
        """Note that somebody acts on a URL, and return whether nothing before can still have effects there."""
        for submission in self.submissions:
            submission.is_alone = submission.is_alone and submission.url != url
        before = self.acted.get(url, float("-inf"))
        self.acted[url] = self.clock()
        return self.clock() - before > HORIZON_SECONDS

    def pick(self, which: int) -> Submission:
        """Return one of the last submissions."""
        return self.submissions[-1 - which % min(len(self.submissions), 4)]

    def start(self, submission: Submission, operation: Coroutine[Any, Any, None], passes: float) -> None:
        """Start an operation, in place of the one on the same URL, and let some time pass."""
        running = self.running.get(submission.url)
        if running is not None:
            running.cancel()
            self.settle(0.0)
        self.runner.run(self.as_task(submission.url, operation))
        self.settle(passes)

    async def as_task(self, url: str, operation: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(operation)
        self.running[url] = task
        task.add_done_callback(lambda _: self.running.pop(url))

    def settle(self, seconds: float) -> None:
        """Let time pass, and hold what was claimed meanwhile against the router."""
        self.runner.run(self.clock.run(self.clock.sleep(seconds)))
        self.runner.run(self.no_task_is_left())
        for submission in self.submissions:
            self.truth.check_posts(submission)
            self.truth.check_promise(submission)
            if submission.url not in self.running:
                self.truth.check_handle(submission)
        if self.router.profile.version == SMG:
            self.truth.check_drains()
        assert not self.truth.broken, "\n".join(self.truth.broken)

    async def no_task_is_left(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert self.running or not left, f"tasks are left: {left}"

    async def registering(self, submission: Submission, how: Any, seconds: float) -> None:
        if submission.handle.phase is Phase.NEW:
            submission.times_new += 1
        submission.handle = handle = _from_another_process(submission.handle)
        began = self.clock()
        try:
            if how == "submit":
                await self.client.submit(handle, timeout=seconds)
                began = self.clock()
                await self.client.wait_until_active(handle, timeout=seconds)
            else:
                await self.client.register(handle, timeout=seconds, on_existing=how)
        except OperationError as error:
            self.after_error(submission, error)
        else:
            self.after_active(submission, began, "register returned")
        self.truth.claim(
            self.clock() - began <= seconds + 12.5, f"{seconds} s were given, {self.clock() - began} s taken"
        )

    async def reconciling(self, submission: Submission, seconds: float) -> None:
        submission.handle = handle = _from_another_process(submission.handle)
        submission.was_only_submitted = False
        if handle.phase is Phase.NEW:
            return
        began = self.clock()
        try:
            found = await self.client.reconcile(handle, timeout=seconds)
        except OperationError as error:
            self.after_error(submission, error)
            return
        if found.state is ReconciledState.ACTIVE:
            self.after_active(submission, began, "reconciled as active")
        elif found.state is ReconciledState.ABSENT:
            self.truth.promise(submission, "reconciled as absent")
        elif found.state is ReconciledState.FAILED:
            serves = submission.is_alone and self.truth.serves(submission)
            self.truth.claim(not serves, f"reconciled as failed, and it serves: {handle}")

    async def removing(self, submission: Submission, seconds: float, ghost: bool) -> None:
        submission.handle = handle = _from_another_process(submission.handle)
        submission.was_only_submitted = False
        before = handle.phase
        try:
            if ghost:
                await self.client.watch_for_ghost(handle, timeout=seconds)
            else:
                await self.client.remove(handle, timeout=seconds)
        except OperationError as error:
            self.after_error(submission, error)
        else:
            self.truth.check_absent(submission.url, f"{submission.url} was removed ({before})")
            self.truth.promise(submission, "removed")

    def after_active(self, submission: Submission, began: float, claim: str) -> None:
        posts = self.truth.posts_of(submission)
        since = posts[-1].at_seconds if posts else began
        # Where the URL was listed before, only an entry of its own says that it was this submission.
        # (SMG tells nothing of what became of ranks that were submitted again.)
        is_own = submission.handle.listed_before and submission.is_alone and self.router.profile.version != SMG
        own = submission.priority if is_own else None
        routable = self.truth.was_routable(submission.url, self.ranks, since, own)
        self.truth.claim(routable, f"{claim}, and nothing was routable since {since:.3f} s: {submission.handle}")

    def after_error(self, submission: Submission, error: OperationError) -> None:
        if error.safe_to_resubmit:
            self.truth.promise(submission, f"{type(error).__name__} said it is safe to resubmit")
        if isinstance(error, RegistrationFailed | RegistrationLost) and submission.is_alone and not submission.adopts:
            self.truth.claim(not self.truth.serves(submission), f"{error!r}, and it serves: {submission.handle}")
        if isinstance(error, SubmissionUnknown):
            unknown = submission.handle.phase is Phase.SUBMISSION_UNKNOWN
            self.truth.claim(unknown, f"SubmissionUnknown, and the handle says {submission.handle.phase}")
        for needed in (ROUTER, submission.url):
            self.truth.claim(needed in str(error), f"{str(error)!r} names no {needed}")

    def teardown(self) -> None:
        try:
            for task in list(self.running.values()):
                task.cancel()
            # What is broken was told already.
            if hasattr(self, "client") and not self.truth.broken:
                self.settle(0.0)
                assert not self.running
                self.runner.run(self.client.aclose())
        finally:
            self.runner.close()


def _from_another_process(handle: RegistrationHandle) -> RegistrationHandle:
    return RegistrationHandle.model_validate_json(handle.model_dump_json())


def run_machine(examples: int, steps: int) -> None:
    # Explaining a failure would take longer than finding it.
    run_state_machine_as_test(
        LifecycleMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=[phase for phase in Stage_ if phase is not Stage_.explain],
        ),
    )


@pytest.mark.timeout(600)  # a failure is made small first
def test_the_client_claims_nothing_that_is_not_so_whatever_happens() -> None:
    run_machine(examples=25, steps=30)


@pytest.mark.long
@pytest.mark.timeout(10_800)
def test_the_client_claims_nothing_that_is_not_so_whatever_happens_for_long() -> None:
    run_machine(examples=2_000, steps=50)

"""What really happened at a fake router, and what a client may claim about it.

Each submission has a priority of its own, so an entry of the router tells whose it is.
"""

import json
from dataclasses import dataclass, field

from router_lifecycle import Phase, RegistrationHandle, split_dp_rank
from router_lifecycle.testing import FakeRouter, SeenRequest


@dataclass(eq=False)
class Submission:
    """One submission, as its caller knows it, with what the client has promised about it."""

    handle: RegistrationHandle
    priority: int
    times_new: int = 0
    """How often an operation that may submit began with a handle that says `new`."""
    adopts: bool = False
    is_alone: bool = True
    """Whether nobody acted on its URL since it was there, nor so shortly before that it may still have effects.

    A router has one record per URL and tells of no entry whose submission it came of, so overlapping ones can't be told apart.
    """
    was_only_submitted: bool = True
    """Whether nothing but `register` was asked about it."""
    over_since: float | None = None
    """Since when it can't become routable any more, by a promise of the client."""
    promise: str = ""
    posts_then: int = 0
    """How many POSTs that promise is about; it says nothing of a later one."""

    @property
    def url(self) -> str:
        return self.handle.url


@dataclass
class Truth:
    """The router, looked at from behind."""

    router: FakeRouter
    broken: list[str] = field(default_factory=list)
    """What the client claimed and isn't so."""

    def now(self) -> float:
        return self.router.clock()

    def claim(self, holds: bool, what: str) -> None:
        """Note a claim that doesn't hold; the machine fails with it at its next step."""
        if not holds:
            self.broken.append(f"at {self.now():.3f} s: {what}")

    def posts_of(self, submission: Submission) -> list[SeenRequest]:
        return [
            seen
            for seen in self.router.requests
            if (seen.method, seen.path) == ("POST", "/workers")
            and json.loads(seen.body)["priority"] == submission.priority
        ]

    def last_good_list(self) -> float:
        """Return when the router last told a client what it lists."""
        lists = (
            seen.at_seconds
            for seen in reversed(self.router.requests)
            if (seen.method, seen.path, seen.router_status, seen.status) == ("GET", "/workers", 200, 200)
        )
        return next(lists, float("-inf"))

    def listed_since(self, url: str) -> dict[str, float]:
        """Return when each entry of a URL that is listed now was listed."""
        since: dict[str, float] = {}
        for event in self.router.events:
            if split_dp_rank(event.url)[0] != url:
                continue
            if event.kind == "listed":
                since.setdefault(event.worker_id, event.at_seconds)
            elif event.kind == "gone":
                since.pop(event.worker_id, None)
        return since

    def was_routable(self, url: str, ranks: int, since: float, priority: int | None) -> bool:
        """Return whether all ranks of a URL, or of one submission of it, were routable at one moment from a time on."""
        healthy: set[str] = set()
        before = True
        for event in self.router.events:
            if event.at_seconds >= since and before:
                before = False
                if len(healthy) >= ranks:
                    return True
            if split_dp_rank(event.url)[0] == url and priority in (None, event.priority):
                if event.kind == "healthy":
                    healthy.add(event.worker_id)
                elif event.kind in ("unhealthy", "draining", "gone"):
                    healthy.discard(event.worker_id)
            if not before and len(healthy) >= ranks:
                return True
        return before and len(healthy) >= ranks

    def serves(self, submission: Submission) -> bool:
        """Return whether the entry of a submission is routable, and was when the router last told what it lists."""
        entries = [worker for worker in self.router.workers if worker.priority == submission.priority]
        since = {
            event.worker_id: event.at_seconds
            for event in self.router.events
            if event.priority == submission.priority and event.kind == "healthy"
        }
        told = self.last_good_list()
        return any(worker.routable and since[worker.worker_id] <= told for worker in entries)

    def check_posts(self, submission: Submission) -> None:
        posts = len(self.posts_of(submission))
        self.claim(
            posts <= submission.times_new, f"{posts} POSTs of {submission.handle} in {submission.times_new} submissions"
        )

    def promise(self, submission: Submission, promise: str) -> None:
        """Note that a submission is over, as the client says; of overlapping ones it can only say so of the URL."""
        if not submission.is_alone:
            return
        posts = len(self.posts_of(submission))
        if submission.over_since is None or posts > submission.posts_then:
            submission.over_since, submission.promise, submission.posts_then = self.now(), promise, posts

    def check_promise(self, submission: Submission) -> None:
        """Nothing that was said to be over comes up again."""
        over = submission.over_since
        if over is None or len(self.posts_of(submission)) > submission.posts_then:
            return
        back = [
            e
            for e in self.router.events
            if e.priority == submission.priority and e.kind == "listed" and e.at_seconds > over
        ]
        self.claim(not back, f"{submission.promise} at {over:.3f} s, and yet {back}: {submission.handle}")

    def check_handle(self, submission: Submission) -> None:
        """A handle never says `new` of what the router accepted, nor `accepted` of what was never sent."""
        posts = self.posts_of(submission)
        is_new = submission.handle.phase is Phase.NEW
        is_over = submission.over_since is not None and len(posts) <= submission.posts_then
        if posts and posts[-1].router_status == 202 and not is_over and submission.is_alone:
            self.claim(not is_new, f"the router accepted it, and the handle says new: {submission.handle}")
        if not posts and not submission.adopts and submission.was_only_submitted:
            self.claim(is_new, f"nothing was sent, and the handle says {submission.handle.phase}")

    def check_absent(self, url: str, what: str) -> None:
        told = self.last_good_list()
        still = {worker_id: at for worker_id, at in self.listed_since(url).items() if at <= told}
        self.claim(not still, f"{what}, and the router lists {still}, as it told at {told:.3f} s")

    def check_drains(self) -> None:
        """No DELETE follows a list that showed the entry draining."""
        drains = {event.worker_id: event.at_seconds for event in self.router.events if event.kind == "draining"}
        told = float("-inf")
        for seen in self.router.requests:
            if (seen.method, seen.path, seen.router_status, seen.status) == ("GET", "/workers", 200, 200):
                told = seen.at_seconds
            elif seen.method == "DELETE":
                began = drains.get(seen.path.rpartition("/")[2])
                is_hasty = began is not None and began < told <= seen.at_seconds
                self.claim(
                    not is_hasty,
                    f"DELETE {seen.path} at {seen.at_seconds:.3f} s of an entry shown draining at {told:.3f} s",
                )

"""What a replica knows of workers, whatever the order in which answers and events reach it."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from p2p_registry import SourceStatus, WorkerKey, WorkerState, WorkerSummary
from p2p_registry.kubernetes.cache import WorkerCache
from p2p_registry.kubernetes.objects import WorkerEntry

SOURCE, OTHER = "0123456789abcdef", "fedcba9876543210"


def entry(name: str, version: int, source_id: str = SOURCE) -> WorkerEntry:
    return WorkerEntry(
        name=name,
        uid="u",
        version=version,
        summary=WorkerSummary(
            key=WorkerKey(source_id=source_id, worker_id=name, worker_rank=0),
            state=WorkerState(status=SourceStatus.READY, updated_at_ms=version, source_load=None),
            model_name="m",
            accelerator="",
            topology={},
            training_step=None,
            layout_signature=None,
        ),
        earlier={},
        ready=None,
    )


def shown(cache: WorkerCache) -> dict[str, int]:
    return {each.key.worker_id: each.state.updated_at_ms for each in cache.summaries(None)}


def test_a_listing_is_of_one_source_or_of_all() -> None:
    cache = WorkerCache()
    cache.list(5, [entry("a", 1), entry("b", 2, OTHER)])
    assert [each.key.worker_id for each in cache.summaries(OTHER)] == ["b"]
    assert shown(cache) == {"a": 1, "b": 2}
    assert cache.seen == 5


def test_an_own_write_is_known_at_once_and_no_late_event_takes_it_back() -> None:
    cache = WorkerCache()
    cache.list(5, [entry("a", 1)])
    cache.written(entry("a", 8))
    cache.changed(entry("a", 7))
    assert shown(cache) == {"a": 8}
    cache.changed(entry("a", 9))
    assert shown(cache) == {"a": 9}


def test_an_answer_that_comes_when_the_watch_is_past_it_is_left_to_the_watch() -> None:
    cache = WorkerCache()
    cache.list(5, [entry("a", 1)])
    cache.changed(entry("a", 6))
    cache.deleted("a", 7)
    cache.written(entry("a", 6))
    assert shown(cache) == {}
    cache.passed(9)
    cache.written(entry("b", 9))
    assert shown(cache) == {}


def test_of_two_answers_the_newer_counts() -> None:
    cache = WorkerCache()
    cache.written(entry("a", 8))
    cache.written(entry("a", 7))
    assert shown(cache) == {"a": 8}


def test_what_was_removed_does_not_come_back_by_a_late_event() -> None:
    cache = WorkerCache()
    cache.list(5, [])
    cache.removed(entry("a", 7))
    cache.changed(entry("a", 6))
    cache.changed(entry("a", 7))
    assert shown(cache) == {}
    cache.deleted("a", 8)
    cache.changed(entry("a", 9))
    assert shown(cache) == {"a": 9}


def test_what_was_removed_and_made_again_stays() -> None:
    cache = WorkerCache()
    cache.list(5, [entry("a", 5)])
    cache.removed(entry("a", 5))
    cache.written(entry("a", 8))
    cache.deleted("a", 6)
    assert shown(cache) == {"a": 8}


def test_a_list_drops_what_is_gone_and_keeps_what_was_written_since() -> None:
    cache = WorkerCache()
    cache.list(5, [entry("a", 1), entry("b", 2)])
    cache.written(entry("c", 9))
    cache.removed(entry("d", 8))
    cache.list(7, [entry("b", 2), entry("c", 6), entry("d", 7)])
    assert shown(cache) == {"b": 2, "c": 9}


@dataclass
class Cluster:
    """A server's history, and one replica's cache that hears of it in pieces."""

    cache: WorkerCache = field(default_factory=WorkerCache)
    objects: dict[str, int] = field(default_factory=dict)
    history: list[tuple[str, str, int]] = field(default_factory=list)
    version: int = 10
    watched: int = 0
    answers: list[tuple[str, str, int]] = field(default_factory=list)

    def step(self, action: str, name: str, *, own: bool) -> None:
        if action == "watch":
            self.watch()
        elif action == "list":
            self.cache.list(self.version, [entry(each, version) for each, version in self.objects.items()])
            self.watched = len(self.history)
        elif action == "answer" and self.answers:
            self.answer(0)
        elif action == "late answer" and self.answers:
            self.answer(-1)
        elif action == "write":
            self.version += 1
            self.objects[name] = self.version
            self.history.append(("written", name, self.version))
            if own:
                self.answers.append(("written", name, self.version))
        elif action == "remove" and name in self.objects:
            before = self.objects.pop(name)
            self.version += 1
            self.history.append(("removed", name, self.version))
            if own:
                self.answers.append(("removed", name, before))

    def watch(self) -> None:
        if self.watched < len(self.history):
            kind, name, version = self.history[self.watched]
            self.watched += 1
            if kind == "written":
                self.cache.changed(entry(name, version))
            else:
                self.cache.deleted(name, version)

    def answer(self, position: int) -> None:
        kind, name, version = self.answers.pop(position)
        if kind == "written":
            self.cache.written(entry(name, version))
        else:
            self.cache.removed(entry(name, version))


ACTIONS = ("write", "write", "remove", "watch", "watch", "answer", "late answer", "list")


@given(st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from("ab"), st.booleans()), max_size=40))
def test_whatever_the_order_no_entry_grows_older_and_the_watch_has_the_last_word(
    steps: list[tuple[str, str, bool]],
) -> None:
    cluster = Cluster()
    cluster.cache.list(cluster.version, [])
    for action, name, own in steps:
        before = shown(cluster.cache)
        cluster.step(action, name, own=own)
        after = shown(cluster.cache)
        assert all(after[each] >= before[each] for each in before if each in after)
    while cluster.answers:
        cluster.answer(0)
    while cluster.watched < len(cluster.history):
        cluster.watch()
    assert shown(cluster.cache) == cluster.objects
    assert cluster.cache._removed == {}, "what was removed is remembered only until the watch has told of it"


@given(st.lists(st.tuples(st.sampled_from(ACTIONS[:5]), st.sampled_from("ab"), st.just(value=True)), max_size=40))
def test_a_replica_alone_always_shows_what_it_did(steps: list[tuple[str, str, bool]]) -> None:
    cluster = Cluster()
    cluster.cache.list(cluster.version, [])
    for action, name, own in steps:
        cluster.step(action, name, own=own)
        while cluster.answers:
            cluster.answer(0)
        assert shown(cluster.cache) == cluster.objects

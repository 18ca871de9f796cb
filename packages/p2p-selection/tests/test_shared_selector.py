"""One selector, one pipeline and one memory of digests, shared by threads."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from p2p_selection import (
    AttemptOutcome,
    Candidate,
    DigestCache,
    Fate,
    RendezvousHash,
    SelectionPipeline,
    Target,
    rendezvous_digest,
)

FLEET = [Candidate("s", f"w{number}", 0) for number in range(6)]


@pytest.fixture(autouse=True)
def threads_change_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_push_each_other_out_of_the_memory_still_get_their_digests() -> None:
    cache = DigestCache(size=14)  # two targets' lists and a bit

    def ask(number: int) -> bool:
        target = Target("m", f"t{number % 5}", 0)
        return cache.digests(FLEET, target) == [rendezvous_digest(source, target) for source in FLEET]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(2_000)))


def test_no_failure_that_threads_report_at_once_is_lost() -> None:
    pipeline = SelectionPipeline(RendezvousHash(), limit=None)
    sources = [Candidate("s", f"w{number}", 0) for number in range(400)]

    def fail(source: Candidate) -> None:
        pipeline.attempted(source, AttemptOutcome.TRANSFER_RETRY, 1.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fail, sources))
    verdicts = pipeline.select(sources, Target("m", "t", 0)).verdicts
    assert {verdict.fate for verdict in verdicts} == {Fate.COOLING}

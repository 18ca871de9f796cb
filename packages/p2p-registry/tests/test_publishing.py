"""The publisher's state machine: what is due when, and what the answers change."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_registry.errors import SettingError
from p2p_registry.publishing import (
    Answer,
    LoadReading,
    Publication,
    PublisherSettings,
    PublisherState,
    Step,
    checked_load,
    load_to_send,
)

PUBLISHED = Answer(True, "stored", "5a5f555570065064")
ACCEPTED = Answer(True, "updated")
REFUSED = Answer(False, "not registered")
NO_ANSWER = Answer(None, "UNAVAILABLE: down")


def beating(settings: PublisherSettings | None = None, now: float = 100.0) -> Publication:
    """Return a publication whose first heartbeat was just accepted."""
    publication = Publication(PublisherSettings() if settings is None else settings, now)
    publication.load_asked()
    publication.published(PUBLISHED, now)
    publication.beaten(ACCEPTED, now)
    return publication


def test_the_load_is_asked_for_before_the_first_publication_and_before_each_heartbeat() -> None:
    publication = Publication(PublisherSettings(), 100)
    assert publication.next_step() == (Step.ASK_LOAD, 100)
    publication.load_asked()
    assert publication.next_step() == (Step.PUBLISH, 100)
    publication.published(PUBLISHED, 101)
    assert publication.mx_source_id == "5a5f555570065064"
    assert publication.next_step() == (Step.BEAT, 101)
    publication.beaten(ACCEPTED, 101.5)
    assert publication.state is PublisherState.READY
    assert publication.next_step() == (Step.ASK_LOAD, 126)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 131)


def test_two_refusals_publish_again_at_once_and_one_does_not() -> None:
    publication = beating()
    publication.beaten(REFUSED, 130)
    assert publication.state is PublisherState.REFUSED
    assert publication.next_step() == (Step.ASK_LOAD, 155)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 160)
    publication.beaten(REFUSED, 160.5)
    assert publication.next_step() == (Step.ASK_LOAD, 160.5)
    publication.load_asked()
    assert publication.next_step() == (Step.PUBLISH, 160.5)
    publication.published(PUBLISHED, 161)
    publication.beaten(REFUSED, 161)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 191)


def test_an_accepted_heartbeat_takes_a_refusal_back() -> None:
    publication = beating()
    for answer, now in ((REFUSED, 130), (ACCEPTED, 160), (REFUSED, 190)):
        publication.beaten(answer, now)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 220)


def test_no_number_of_calls_without_an_answer_publishes_again() -> None:
    publication = beating()
    for now in range(130, 1000, 5):
        publication.beaten(NO_ANSWER, now)
        publication.load_asked()
        assert publication.next_step()[0] is Step.BEAT
    assert publication.state is PublisherState.UNREACHABLE


def test_calls_without_an_answer_neither_add_to_refusals_nor_take_them_back() -> None:
    publication = beating()
    publication.beaten(REFUSED, 130)
    publication.beaten(NO_ANSWER, 160)
    publication.beaten(NO_ANSWER, 165)
    publication.beaten(REFUSED, 170)
    publication.load_asked()
    assert publication.next_step() == (Step.PUBLISH, 170)


def test_a_heartbeat_without_an_answer_is_tried_again_soon_and_puts_none_off() -> None:
    publication = beating()
    publication.beaten(NO_ANSWER, 140)
    assert publication.next_step() == (Step.BEAT, 145)  # with the load that was asked for
    publication.beaten(NO_ANSWER, 155)
    assert publication.next_step() == (Step.ASK_LOAD, 155)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 160)
    publication.beaten(NO_ANSWER, 158)
    publication.load_asked()
    assert publication.next_step() == (Step.BEAT, 160)


@pytest.mark.parametrize("answer", [REFUSED, NO_ANSWER])
def test_a_failed_publication_is_tried_again_after_the_pause_with_a_new_load(answer: Answer) -> None:
    publication = Publication(PublisherSettings(), 100)
    publication.load_asked()
    publication.published(answer, 102)
    assert publication.mx_source_id is None
    assert publication.next_step() == (Step.ASK_LOAD, 107)
    publication.load_asked()
    assert publication.next_step() == (Step.PUBLISH, 107)


@given(
    interval=st.floats(0.01, 89),
    start=st.floats(0, 1e6),
    calls=st.lists(st.tuples(st.floats(0, 300), st.sampled_from([ACCEPTED, REFUSED, NO_ANSWER])), max_size=30),
)
def test_heartbeats_are_on_the_beat_whatever_calls_take(
    interval: float, start: float, calls: list[tuple[float, Answer]]
) -> None:
    publication = beating(PublisherSettings(heartbeat_seconds=interval), start)
    now = start
    for took, answer in calls:
        publication.load_asked()
        step, due = publication.next_step()
        if step is Step.PUBLISH:
            return
        now = max(now, due) + took
        publication.beaten(answer, now)
        _, due = publication.next_step()
        publication.load_asked()
        _, due = publication.next_step()
        assert due <= now + interval * (1 + 1e-6)
        beats = (due - start) / interval
        on_the_beat = math.isclose(beats, round(beats), abs_tol=1e-3)
        assert due > now or answer is REFUSED
        assert on_the_beat or answer is NO_ANSWER or publication.next_step()[0] is Step.PUBLISH


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("heartbeat_seconds", 0, "use 30"),
        ("heartbeat_seconds", 90, "use 30"),
        ("heartbeat_seconds", math.nan, "use 30"),
        ("retry_seconds", 0, "retry_seconds=0 is not allowed: more than 0"),
        ("call_seconds", -1, "call_seconds=-1"),
        ("max_load_age_seconds", math.nan, "max_load_age_seconds=nan"),
        ("stop_seconds", 0, "stop_seconds=0"),
        ("provider_seconds", -0.1, "provider_seconds=-0.1 is not allowed: 0 or more"),
    ],
)
def test_a_time_out_of_range_is_refused(name: str, value: float, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        PublisherSettings(**{name: value})  # type: ignore[arg-type] # one of the times


def test_an_old_load_is_no_load() -> None:
    reading = LoadReading(0.7, 100)
    assert load_to_send(reading, 130, 30) == 0.7
    assert load_to_send(reading, 130.1, 30) is None
    assert load_to_send(LoadReading(None, 100), 100, 30) is None
    assert load_to_send(None, 100, 30) is None


@pytest.mark.parametrize("value", [None, 0.0, 0.73, 1.0, 0, 1])
def test_a_provider_may_return_a_number_from_0_to_1_or_none(value: float | None) -> None:
    assert checked_load(value) == value


@pytest.mark.parametrize("value", [-0.1, 1.01, 55, math.nan, math.inf, True, "0.5"])
def test_anything_else_from_a_provider_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match="a number from 0 to 1, or None, is allowed"):
        checked_load(value)

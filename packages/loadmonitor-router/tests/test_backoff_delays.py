"""How long a lost Worker is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from loadmonitor_router._backoff import LONGEST_MS, RIVAL_LONGEST_MS, Backoff


def never() -> float:
    return 0.0


def lost(backoff: Backoff, held_ms: float = 0, code: str | None = None, *, no_service: bool = False) -> float:
    return backoff.delay_ms(held_ms=held_ms, code=code, no_service=no_service)


def test_delays_double_up_to_five_seconds() -> None:
    backoff = Backoff(never)
    assert [lost(backoff) for _ in range(7)] == [200, 400, 800, 1_600, 3_200, 5_000, 5_000]


def test_a_short_spell_changes_nothing_and_a_good_one_begins_anew() -> None:
    backoff = Backoff(never)
    assert [lost(backoff), lost(backoff), lost(backoff, held_ms=4_999)] == [200, 400, 800]
    assert [lost(backoff, held_ms=5_000), lost(backoff)] == [200, 400]


def test_a_peer_without_a_reporter_is_asked_every_five_seconds_from_the_first_time_on() -> None:
    backoff = Backoff(never)
    assert [lost(backoff, no_service=True), lost(backoff, no_service=True)] == [5_000, 5_000]


def test_a_rival_is_left_alone_ever_longer_whatever_succeeds_meanwhile() -> None:
    backoff = Backoff(never)
    replaced = [lost(backoff, held_ms=300_000, code="SESSION_REPLACED") for _ in range(10)]
    assert replaced == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000]
    assert lost(backoff, held_ms=300_000) == 200
    assert lost(backoff, code="SESSION_REPLACED") == 300_000


def test_a_rival_is_forgotten_once_a_registration_has_outlasted_its_longest_delay() -> None:
    backoff = Backoff(never)
    for _ in range(5):
        lost(backoff, code="SESSION_REPLACED")
    assert lost(backoff, held_ms=2 * RIVAL_LONGEST_MS, code="SESSION_REPLACED") == 1_000


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from([None, "SESSION_REPLACED", "X"]))))
def test_jitter_shortens_by_up_to_half_and_never_lengthens(losses: list[tuple[float, str | None]]) -> None:
    plain, jittered = Backoff(never), Backoff(iter([jitter for jitter, _ in losses]).__next__)
    for _, code in losses:
        full, delay = lost(plain, code=code), lost(jittered, code=code)
        assert full / 2 <= delay <= full <= max(LONGEST_MS, RIVAL_LONGEST_MS)

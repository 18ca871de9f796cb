"""The load that a source publishes: how signals blend, when it is unknown, and that nothing ever raises or waits."""

import logging
import math
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_server import metrics, sends, serving
from nic_tree import ManualClock, NicTree

from nic_metrics import (
    METRICS_URL_VARIABLE,
    MetricsUrlError,
    NicSignal,
    PortId,
    ScrapeProblem,
    ServingLoadReader,
    SignalReading,
    SignalReason,
    SourceLoadProvider,
    UnknownReason,
    greatest,
    greatest_known,
    make_source_load_provider,
)
from nic_metrics.prometheus import make_registry

UNSEEN = SignalReading(None, UnknownReason.NO_BYTE_COUNTER)
ASLEEP = SignalReading(None, "sleeping", final=True)


class Told:
    """A signal that tells what a test puts into it."""

    def __init__(self, told: object) -> None:
        self.told = told
        self.closed = False

    def read(self) -> SignalReading:
        told = self.told
        if isinstance(told, BaseException):
            # A new one each time: one that is raised again and again grows a traceback.
            raise type(told)(*told.args)
        if isinstance(told, float):
            return SignalReading(told, None)
        return told  # type: ignore[return-value]

    def close(self) -> None:
        self.closed = True
        if isinstance(self.told, BaseException):
            raise self.told


def provider_of(clock: ManualClock | None = None, /, **told: object) -> tuple[SourceLoadProvider, dict[str, Told]]:
    signals = {name: Told(each) for name, each in told.items()}
    return SourceLoadProvider(signals, clock=clock or ManualClock()), signals


@pytest.mark.parametrize(
    ("nic", "serving_load", "load"),
    [
        (0.25, 0.75, 0.75),
        (0.75, 0.25, 0.75),
        (0.0, 0.0, 0.0),
        (0.25, UNSEEN, 0.25),
        (UNSEEN, 0.25, 0.25),
        (UNSEEN, UNSEEN, None),
        (0.25, ASLEEP, None),
        (1.0, ASLEEP, None),
    ],
)
def test_the_greatest_known_load_is_published(nic: object, serving_load: object, load: float | None) -> None:
    provider, _ = provider_of(nic=nic, serving=serving_load)
    assert provider() == load


def test_an_idle_engine_beside_a_nic_that_cannot_be_seen_is_not_an_idle_source() -> None:
    provider, signals = provider_of(nic=UNSEEN, serving=0.0)
    assert provider() is None
    assert provider.explain().reason == SignalReason.PARTLY_UNKNOWN
    signals["nic"].told = 0.0
    assert provider() == 0.0


def test_where_a_nic_can_never_be_seen_an_idle_engine_may_count_by_another_blend() -> None:
    assert SourceLoadProvider({"nic": Told(UNSEEN), "serving": Told(0.0)}, blend=greatest_known)() == 0.0
    assert SourceLoadProvider({"nic": Told(UNSEEN)}, blend=greatest_known)() is None


def test_a_blend_sees_every_signal_by_name() -> None:
    def weighted(loads: Mapping[str, float | None]) -> float | None:
        nic, serving_load = loads["nic"], loads["serving"]
        return None if nic is None or serving_load is None else (nic + 3 * serving_load) / 4

    assert SourceLoadProvider({"nic": Told(0.0), "serving": Told(1.0)}, blend=weighted)() == 0.75
    assert SourceLoadProvider({"nic": Told(0.5), "serving": Told(UNSEEN)}, blend=weighted)() is None


def test_a_provider_without_signals_knows_nothing() -> None:
    provider = SourceLoadProvider({})
    assert provider() is None
    assert provider.explain().reason == SignalReason.NO_SIGNAL


def test_a_reading_above_the_age_limit_is_unknown_and_explained() -> None:
    provider, signals = provider_of(serving=SignalReading(0.5, None, 60.0, "kv"))
    assert provider() == 0.5
    signals["serving"].told = SignalReading(0.5, None, 61.0, "kv")
    assert provider() is None
    assert provider.explain().signals["serving"] == SignalReading(
        None, SignalReason.TOO_OLD, 61.0, "61 s old, at most 60 s; kv"
    )


def test_a_word_that_is_final_is_so_only_while_it_is_fresh() -> None:
    asleep = SignalReading(None, "sleeping", 61.0, "engine gone", final=True)
    provider, _ = provider_of(nic=0.5, serving=asleep)
    assert provider() == 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.1, 1.5, 55])
def test_what_is_no_load_is_unknown(value: float) -> None:
    provider, _ = provider_of(serving=SignalReading(value, None))
    assert provider() is None
    assert provider.explain().signals["serving"].reason == SignalReason.INVALID
    assert SourceLoadProvider({"nic": Told(0.5)}, blend=lambda _: value)() is None


@pytest.mark.parametrize("told", [None, "idle", 3, SignalReading("0.5", None), SignalReading(0.5, None, None)])  # type: ignore[arg-type]
def test_a_signal_that_breaks_its_promise_is_unknown_and_raises_nothing(
    told: object, caplog: pytest.LogCaptureFixture
) -> None:
    provider, _ = provider_of(nic=0.5, serving=told)
    assert provider() == 0.5
    assert provider.explain().signals["serving"].reason == SignalReason.FAILED
    assert len(caplog.records) == 1


def test_an_error_is_logged_once_and_is_unknown_every_time(caplog: pytest.LogCaptureFixture) -> None:
    provider, signals = provider_of(nic=OSError("first"), serving=0.5)
    for _ in range(3):
        assert provider() == 0.5
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "load unknown: nic failed, which is logged only once")
    ]
    assert provider.explain().signals["nic"] == SignalReading(None, SignalReason.FAILED, detail="OSError('first')")
    signals["nic"].told = ValueError("another")
    provider()
    provider()
    assert len(caplog.records) == 2


def test_a_blend_that_raises_is_unknown_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    provider = SourceLoadProvider({"nic": Told(0.5)}, blend=lambda loads: loads["gone"])
    assert [provider(), provider()] == [None, None]
    assert provider.explain().reason == SignalReason.FAILED
    assert len(caplog.records) == 1


def test_an_interrupt_is_nobodys_load() -> None:
    provider, _ = provider_of(nic=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        provider()


def test_a_load_that_becomes_unknown_is_unknown_at_once() -> None:
    provider, signals = provider_of(nic=0.5)
    provider()
    signals["nic"].told = UNSEEN
    assert provider() is None


def test_the_last_load_may_stand_in_for_a_while_and_then_decays_to_unknown() -> None:
    clock, signal = ManualClock(), Told(0.5)
    provider = SourceLoadProvider({"nic": signal}, hold_seconds=30, clock=clock)
    provider()
    signal.told = UNSEEN
    clock.advance(29)
    assert provider() == 0.5
    explained = provider.explain()
    assert (explained.reason, explained.blended, explained.held_seconds) == (SignalReason.ALL_UNKNOWN, None, 29)
    clock.advance(1)
    assert provider() is None
    # What has decayed doesn't come back.
    clock.advance(-10)
    assert provider() is None


def test_nothing_stands_in_for_a_sleeping_engine() -> None:
    signals = {"nic": Told(0.5), "serving": Told(0.5)}
    provider = SourceLoadProvider(signals, hold_seconds=3600)
    provider()
    signals["serving"].told = ASLEEP
    assert provider() is None
    signals["serving"].told, signals["nic"].told = UNSEEN, UNSEEN
    assert provider() is None


def test_smoothing_follows_a_step_by_its_time_constant_however_often_it_is_asked() -> None:
    for steps in (1, 10):
        clock, signal = ManualClock(), Told(0.0)
        provider = SourceLoadProvider({"nic": signal}, smoothing_seconds=30, clock=clock)
        assert provider() == 0.0
        signal.told = 1.0
        for _ in range(steps):
            clock.advance(30 / steps)
            provider()
        assert provider() == pytest.approx(1 - math.exp(-1))
        assert provider.explain().blended == 1.0


def test_smoothing_starts_afresh_after_an_unknown_load() -> None:
    clock, signal = ManualClock(), Told(0.0)
    provider = SourceLoadProvider({"nic": signal}, smoothing_seconds=1e9, clock=clock)
    provider()
    signal.told = UNSEEN
    provider()
    signal.told = 1.0
    assert provider() == 1.0


def test_the_first_revision_of_the_design_calls_every_failure_idle() -> None:
    for failure in (UNSEEN, ASLEEP, OSError(), SignalReading(0.5, None, 1e9), SignalReading(math.nan, None)):
        assert SourceLoadProvider({"nic": Told(failure)}, unknown_load=0.0)() == 0.0
        assert SourceLoadProvider({"nic": Told(failure), "serving": Told(0.5)}, unknown_load=0.0)() == 0.5
    assert SourceLoadProvider({}, unknown_load=0.0)() == 0.0


def test_explain_before_the_first_load_measures_and_afterwards_does_not() -> None:
    provider, signals = provider_of(nic=0.5)
    assert provider.explain().value == 0.5
    signals["nic"].told = 0.75
    assert provider.explain().value == 0.5
    assert provider() == 0.75
    assert provider.explain().signals == {"nic": SignalReading(0.75, None)}


def test_explain_tells_how_old_a_reading_is_by_now() -> None:
    clock = ManualClock()
    provider, _ = provider_of(clock, serving=SignalReading(0.5, None, 5.0, "kv"))
    provider()
    clock.advance(30)
    assert provider.explain().signals == {"serving": SignalReading(0.5, None, 35.0, "kv")}


def test_closing_closes_every_signal_whatever_one_raises(caplog: pytest.LogCaptureFixture) -> None:
    provider, signals = provider_of(nic=OSError("stuck"), serving=0.5)
    provider.close()
    assert all(signal.closed for signal in signals.values())
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["max_age_seconds", "smoothing_seconds", "hold_seconds", "unknown_load"])
def test_settings_out_of_range_are_refused(name: str) -> None:
    for value in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"{name} is {value!r}; give a"):
            SourceLoadProvider({}, **{name: value})  # type: ignore[arg-type]


READINGS = st.one_of(
    st.floats(0, 1),
    st.sampled_from([UNSEEN, ASLEEP, OSError()]),
    st.floats().map(lambda value: SignalReading(value, None)),
)


@given(st.lists(st.tuples(READINGS, READINGS, st.floats(0, 100)), min_size=1, max_size=8), st.sampled_from([0.0, 30.0]))
def test_a_load_is_from_0_to_1_and_0_only_where_all_signals_measured_0(
    steps: list[tuple[object, object, float]], smoothing_seconds: float
) -> None:
    clock, signals = ManualClock(), {"nic": Told(0.0), "serving": Told(0.0)}
    provider = SourceLoadProvider(signals, smoothing_seconds=smoothing_seconds, clock=clock)
    for nic, serving_load, seconds in steps:
        signals["nic"].told, signals["serving"].told = nic, serving_load
        clock.advance(seconds)
        load = provider()
        explained = provider.explain()
        assert (load is None) is (explained.reason is not None)
        if load is not None:
            assert 0 <= load <= 1
        if explained.blended == 0:
            assert all(reading.value == 0 for reading in explained.signals.values())


@given(st.dictionaries(st.text(max_size=2), st.none() | st.floats(0, 1)))
def test_blends_differ_only_in_what_an_idle_one_beside_an_unknown_one_is(loads: dict[str, float | None]) -> None:
    known = greatest_known(loads)
    assert known == max((load for load in loads.values() if load is not None), default=None)
    assert greatest(loads) == (None if known == 0 and None in loads.values() else known)


def test_many_threads_may_ask_at_once() -> None:
    provider, _ = provider_of(nic=0.5)
    loads: list[float | None] = []
    threads = [threading.Thread(target=lambda: loads.extend(provider() for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [0.5] * 400


@pytest.fixture
def idle_nic(tmp_path: Path) -> NicSignal:
    NicTree(tmp_path).port("mlx5_0", {"counters/port_xmit_data": 0, "counters/port_rcv_data": 0})
    return NicSignal([PortId("mlx5_0")], root=tmp_path, min_window_seconds=0, clock=clock_of_steps())


def clock_of_steps() -> ManualClock:
    class Stepping(ManualClock):
        def __call__(self) -> float:
            self.advance(1)
            return self.seconds

    return Stepping()


def test_the_address_of_the_environment_is_asked_beside_the_heartbeat(idle_nic: NicSignal) -> None:
    with serving() as server:
        provider = make_source_load_provider(idle_nic, environ={METRICS_URL_VARIABLE: server.url})
        server.wait_for_requests(1)
        # The server hangs, and nobody waits for it.
        assert provider() is None
        readings = provider.explain().signals
        assert (readings["nic"].value, readings["serving"].value) == (0.0, None)
        assert readings["serving"].reason in {SignalReason.NOT_YET, ScrapeProblem.DEADLINE}
        server.over.set()
        provider.close()


def test_the_engine_s_load_is_blended_once_it_has_answered(idle_nic: NicSignal) -> None:
    body = b'sglang:token_usage{dp_rank="0"} 0.9\nsglang:token_usage{dp_rank="1"} 0.25\n'
    with serving(sends(metrics(body))) as server:
        provider = make_source_load_provider(
            idle_nic,
            metrics_url=server.url,
            environ={METRICS_URL_VARIABLE: "http://127.0.0.1:1/"},
            reader=ServingLoadReader(select={"dp_rank": "1"}),
            scrape_interval_seconds=0.001,
        )
        questions = 1
        # Each question comes after the answer to the one before; a machine that is very busy may miss a deadline.
        while provider() is None:
            questions += 1
            server.wait_for_requests(questions)
        assert provider() == 0.25
        provider.close()


@pytest.mark.parametrize("environ", [{}, {METRICS_URL_VARIABLE: ""}])
def test_without_an_address_the_nic_alone_counts(idle_nic: NicSignal, environ: dict[str, str]) -> None:
    provider = make_source_load_provider(idle_nic, environ=environ)
    assert provider() == 0.0
    assert list(provider.explain().signals) == ["nic"]
    provider.close()


def test_an_empty_address_switches_that_of_the_environment_off(idle_nic: NicSignal) -> None:
    provider = make_source_load_provider(
        idle_nic, metrics_url="", environ={METRICS_URL_VARIABLE: "http://127.0.0.1:1/"}
    )
    assert list(provider.explain().signals) == ["nic"]
    provider.close()


def test_a_bad_address_of_the_environment_is_logged_and_the_source_starts(
    idle_nic: NicSignal, caplog: pytest.LogCaptureFixture
) -> None:
    provider = make_source_load_provider(idle_nic, environ={METRICS_URL_VARIABLE: "file:///etc/passwd"})
    assert "MX_P2P_RUNTIME_METRICS_URL: 'file:///etc/passwd' is not an address of http or https" in caplog.text
    assert provider() is None
    assert provider.explain().signals["serving"].reason == SignalReason.BAD_ADDRESS
    provider.close()


def test_a_bad_address_of_the_caller_is_an_error() -> None:
    with pytest.raises(MetricsUrlError):
        make_source_load_provider(metrics_url="file:///etc/passwd")


def test_the_first_heartbeat_has_a_load_because_the_first_sample_was_taken_before(tmp_path: Path) -> None:
    tree, clock = NicTree(tmp_path), ManualClock()
    tree.port("mlx5_0", {"counters/port_xmit_data": 0, "counters/port_rcv_data": 0})
    nic = NicSignal([PortId("mlx5_0")], root=tmp_path, clock=clock)
    provider = make_source_load_provider(nic, environ={})
    tree.write("mlx5_0", {"counters/port_xmit_data": 30 * 3_125_000_000})
    clock.advance(30)
    assert provider() == 0.25
    provider.close()


def test_the_environment_of_the_process_counts_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METRICS_URL_VARIABLE, "ftp://x/")
    provider = make_source_load_provider()
    assert provider.explain().signals["serving"].reason == SignalReason.BAD_ADDRESS


def test_signals_are_exported_with_their_age_and_unknown_ones_are_not() -> None:
    clock = ManualClock()
    provider, _ = provider_of(clock, nic=UNSEEN, serving=SignalReading(0.5, None, 5.0, "kv"))
    provider()
    clock.advance(10)
    registry = make_registry([], source_load=lambda: provider.explain().signals)
    assert registry.get_sample_value("nic_metrics_source_load_ratio", {"signal": "serving"}) == 0.5
    assert registry.get_sample_value("nic_metrics_source_load_age_seconds", {"signal": "serving"}) == 15.0
    assert registry.get_sample_value("nic_metrics_source_load_ratio", {"signal": "nic"}) is None

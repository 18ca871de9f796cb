"""Scraping beside whoever reads: what is read, how old it is, and how the thread ends."""

import gc
import threading
import weakref
from collections.abc import Callable

import pytest
from metrics_server import MetricsServer, metrics, sends, serving
from nic_tree import ManualClock

from nic_metrics import (
    MetricsUrlError,
    ScrapeProblem,
    ServingLoad,
    ServingLoadReader,
    ServingLoadReason,
    ServingLoadScraper,
    SignalReading,
    SignalReason,
)

KV = "vllm:kv_cache_usage_perc"
NEVER = 3600.0
"""An interval that no test sees the end of."""
BRIEF = 0.001
LATE = 20.0


def loaded(value: float) -> bytes:
    return metrics(f'{KV}{{engine="0"}} {value}\n'.encode())


def scraper(
    server: MetricsServer,
    clock: Callable[[], float] | None = None,
    *,
    reader: ServingLoadReader | None = None,
    interval_seconds: float = NEVER,
    deadline_seconds: float = LATE,
) -> ServingLoadScraper:
    return ServingLoadScraper(
        server.url,
        reader=reader,
        interval_seconds=interval_seconds,
        deadline_seconds=deadline_seconds,
        clock=clock or ManualClock(),
    )


def scrape_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nic-metrics-scrape"]


def wait_for_end(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_nothing_is_asked_before_somebody_reads_and_reading_does_not_wait_for_the_answer() -> None:
    with serving() as server:
        signal = scraper(server)
        assert scrape_threads() == []
        # The server hangs: a reading that waited would wait for the deadline.
        assert signal.read() == SignalReading(None, SignalReason.NOT_YET)
        server.wait_for_requests(1)
        assert signal.read() == SignalReading(None, SignalReason.NOT_YET)
        server.over.set()
        signal.close()
        assert len(server.requests) == 1


def test_an_answer_is_read_until_the_next_one_and_grows_old() -> None:
    clock = ManualClock()
    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server, clock)
        signal.scrape()
        assert signal.read() == SignalReading(0.25, None, 0.0, KV)
        clock.advance(7)
        assert signal.read() == SignalReading(0.25, None, 7.0, KV)
        signal.close()


def test_an_answer_is_as_old_as_the_question() -> None:
    clock = ManualClock()

    with serving() as server:
        signal = scraper(server, clock)

        def answer_late(connection: object) -> None:
            clock.advance(5)
            sends(loaded(0.5))(connection)  # type: ignore[arg-type]

        server.answer = answer_late
        signal.scrape()
        signal.close()
        assert signal.read().age_seconds == 5


def test_a_scrape_that_fails_leaves_the_answer_before_it_standing_and_says_so() -> None:
    clock = ManualClock()
    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server, clock)
        signal.scrape()
        server.answer = sends(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        clock.advance(10)
        signal.scrape()
        reading = signal.read()
        assert (reading.value, reading.age_seconds) == (0.25, 10)
        assert reading.detail == f"{server.url} answers with status 503"
        server.answer = sends(loaded(0.5))
        signal.scrape()
        assert signal.read() == SignalReading(0.5, None, 0.0, KV)
        signal.close()


def test_a_reader_of_somebody_else_s_that_raises_neither_ends_the_thread_nor_floods_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(ServingLoadReader):
        def read(self, text: bytes, content_type: str = "") -> ServingLoad:
            raise RuntimeError(f"{len(text)} bytes of {content_type}")

    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server, reader=Broken(), interval_seconds=BRIEF)
        assert signal.read().reason == SignalReason.NOT_YET
        (thread,) = scrape_threads()
        server.wait_for_requests(3)
        reading = signal.read()
        assert (reading.value, reading.reason) == (None, SignalReason.FAILED)
        assert reading.detail.startswith("RuntimeError(")
        assert scrape_threads() == [thread]
        signal.close()
        wait_for_end([thread])
    assert [record.getMessage() for record in caplog.records] == [
        "load unknown: reading the metrics failed, which is logged only once"
    ]


def test_e17_an_engine_that_is_not_there_then_loads_then_serves_is_unknown_until_it_serves() -> None:
    with serving() as server:
        pass
    gone = scraper(server)
    gone.scrape()
    gone.close()
    assert gone.read().reason == ScrapeProblem.UNREACHABLE
    with serving(sends(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")) as server:
        signal = scraper(server)
        for answer, value, reason in (
            (server.answer, None, ScrapeProblem.BAD_STATUS),
            (sends(metrics(b'python_info{version="3.11"} 1\n')), None, ServingLoadReason.NO_METRIC),
            (sends(loaded(0.0)), 0.0, None),
        ):
            server.answer = answer
            signal.scrape()
            reading = signal.read()
            assert (reading.value, reading.reason) == (value, reason)
        signal.close()


def test_a_sleeping_engine_is_unknown_whatever_other_signals_say() -> None:
    body = f'{KV} 0.0\nvllm:engine_sleep_state{{sleep_state="awake"}} 0.0\n'
    with serving(sends(metrics(body.encode()))) as server:
        signal = scraper(server)
        signal.scrape()
        signal.close()
        reading = signal.read()
        assert (reading.value, reading.reason, reading.final) == (None, ServingLoadReason.SLEEPING, True)


def test_a_rank_reports_its_own_load() -> None:
    body = "".join(f'sglang:token_usage{{dp_rank="{rank}"}} {load}\n' for rank, load in ((0, 0.9), (1, 0.1)))
    with serving(sends(metrics(body.encode()))) as server:
        signal = scraper(server, reader=ServingLoadReader(select={"dp_rank": "1"}))
        signal.scrape()
        signal.close()
        assert signal.read().value == 0.1


def test_the_thread_asks_again_and_again_until_it_is_closed() -> None:
    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server, interval_seconds=BRIEF)
        signal.read()
        server.wait_for_requests(3)
        assert signal.read().value == 0.25
        threads = scrape_threads()
        assert len(threads) == 1
        assert threads[0].daemon
        signal.close()
        wait_for_end(threads)
        asked = len(server.requests)
        assert signal.read().value == 0.25
        assert signal._thread is None
        assert len(server.requests) == asked
        signal.close()


def test_closing_waits_no_longer_than_the_deadline_for_a_server_that_hangs() -> None:
    with serving() as server:
        signal = scraper(server, deadline_seconds=0.2)
        signal.read()
        server.wait_for_requests(1)
        threads = scrape_threads()
        signal.close()
        wait_for_end(threads)


def test_a_scraper_that_nobody_holds_any_more_ends_its_thread() -> None:
    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server)
        signal.read()
        server.wait_for_requests(1)
        threads, gone = scrape_threads(), weakref.ref(signal)
        del signal
        wait_for_end(threads)
        gc.collect()
        assert gone() is None


def test_many_readers_start_one_thread() -> None:
    with serving(sends(loaded(0.25))) as server:
        signal = scraper(server)
        readers = [threading.Thread(target=signal.read) for _ in range(16)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert len(scrape_threads()) == 1
        signal.close()


def test_what_cannot_be_scraped_is_refused_at_once() -> None:
    with pytest.raises(MetricsUrlError):
        ServingLoadScraper("file:///etc/passwd")
    for arguments in ({"interval_seconds": 0.0}, {"deadline_seconds": float("nan")}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="give a finite number above 0"):
            ServingLoadScraper("http://127.0.0.1:1/", **arguments)

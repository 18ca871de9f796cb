"""The load of an engine, asked for in a thread beside whoever publishes it: reading the last answer never waits for the next."""

import logging
import math
import time
from collections.abc import Callable
from threading import Event, Lock, Thread
from weakref import ref

from nic_metrics._fork import renew_after_fork
from nic_metrics.errors import ScrapeError
from nic_metrics.scrape import MetricsUrl
from nic_metrics.serving_load import ServingLoad, ServingLoadReader, ServingLoadReason
from nic_metrics.signals import SignalReading, SignalReason

_log = logging.getLogger(__name__)


class ServingLoadScraper:
    """Scrapes an engine's metrics again and again. A `Signal`.

    The thread starts with the first `read`, and in a forked child with the first one there. It ends with `close`, or when nobody
    holds the scraper any more; it doesn't keep a process from ending.
    """

    _lock: Lock
    _stop: Event
    _thread: Thread | None
    # In one piece, so that a reader needs no lock.
    # The last answer and when it was asked for; why the last scrape gave none, as a word and in words.
    _state: tuple[tuple[ServingLoad, float] | None, tuple[str, str] | None]

    def __init__(
        self,
        url: str,
        *,
        reader: ServingLoadReader | None = None,
        interval_seconds: float = 10.0,
        deadline_seconds: float = 1.0,
        max_bytes: int = 8 * 1024 * 1024,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Say what is asked; nothing is asked yet.

        Args:
            url: Address of the metrics text.
            reader: What reads it; by default all metrics that are known, of all ranks.
            interval_seconds: Between the end of a scrape and the start of the next.
            deadline_seconds: For a whole scrape.
            max_bytes: The longest answer that is taken.
            clock: Monotonic seconds.

        Raises:
            MetricsUrlError: The address isn't one.
            ValueError: A limit isn't a finite number above 0.
        """
        for name, limit in (
            ("interval_seconds", interval_seconds),
            ("deadline_seconds", deadline_seconds),
            ("max_bytes", max_bytes),
        ):
            if not (math.isfinite(limit) and limit > 0):
                raise ValueError(f"{name} is {limit!r}; give a finite number above 0")
        self._url = MetricsUrl(url)
        self._reader = ServingLoadReader() if reader is None else reader
        self._interval_seconds = interval_seconds
        self._deadline_seconds = deadline_seconds
        self._max_bytes = max_bytes
        self._clock = clock
        self._reported: set[type[Exception]] = set()
        self._start()
        renew_after_fork(self)

    def read(self) -> SignalReading:
        """Tell what the last scrape that got an answer said, and how long ago that was. Never waits.

        A scrape that got none leaves that answer standing: it grows old, which is the reader's to judge, as the provider does.
        """
        if self._thread is None or not self._thread.is_alive():
            self._start_thread()
        answer, failure = self._state
        problem, trouble = failure or (SignalReason.NOT_YET, "")
        if answer is None:
            return SignalReading(None, problem, detail=trouble)
        load, at = answer
        return SignalReading(
            load.value,
            load.reason,
            max(0.0, self._clock() - at),
            trouble or load.detail or load.metric or "",
            final=load.reason is ServingLoadReason.SLEEPING,
        )

    def scrape(self) -> None:
        """Ask now, in the caller's thread, which waits until the deadline at most; `read` tells what came of it."""
        # The moment before the question: the answer is at least as new.
        at = self._clock()
        try:
            text = self._url.fetch(deadline_seconds=self._deadline_seconds, max_bytes=self._max_bytes)
            self._state = (self._reader.read(text.body, text.content_type), at), None
        except ScrapeError as failure:
            self._state = self._state[0], (failure.problem, str(failure))
        except Exception as error:  # noqa: BLE001 - whatever somebody else's reader raises
            self._state = self._state[0], (SignalReason.FAILED, repr(error)[:200])
            if type(error) not in self._reported:
                self._reported.add(type(error))
                _log.warning("load unknown: reading the metrics failed, which is logged only once", exc_info=error)

    def close(self) -> None:
        """End the thread, and wait for a scrape that is under way, which takes no longer than its deadline."""
        self._stop.set()
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(self._deadline_seconds)

    def _start(self) -> None:
        self._lock = Lock()
        self._stop = Event()
        self._thread = None
        self._state = None, None

    def _start_thread(self) -> None:
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            stop = self._stop
            scraper = ref(self, lambda _: stop.set())
            self._thread = Thread(
                target=_run, args=(scraper, stop, self._interval_seconds), name="nic-metrics-scrape", daemon=True
            )
            self._thread.start()

    def _after_fork(self) -> None:
        closed = self._stop.is_set()
        self._start()
        if closed:
            self._stop.set()


def _run(scraper: "ref[ServingLoadScraper]", stop: Event, interval_seconds: float) -> None:
    while (asking := scraper()) is not None and not stop.is_set():
        asking.scrape()
        # Nobody's scraper must not live on because it waits.
        del asking
        stop.wait(interval_seconds)

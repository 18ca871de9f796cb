"""Sampling ports: reads them when asked and compares with what was read before. Never sleeps, starts no thread."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple, Self

from nic_metrics._counter_reader import CounterReader
from nic_metrics._reading import HeldValue
from nic_metrics._steady import SteadyPort, steady_after
from nic_metrics.counters import ByteSource
from nic_metrics.errors import LinkRateError
from nic_metrics.interfaces import PortStatistics
from nic_metrics.link_rate import parse_link_rate
from nic_metrics.netlink import NetlinkStatistics
from nic_metrics.ports import DEFAULT_ROOT, PortId, is_active, parse_state, port_directory
from nic_metrics.utilization import PortSample, Utilization, all_ones, measure, next_baseline


class ByteTotals(NamedTuple):
    """Bytes that a port moved since its counters began, which may be any time before.

    Attributes:
        tx_bytes: Bytes sent; None when unknown: not readable, or standing at the counter's limit.
        rx_bytes: Bytes received; None when unknown.
    """

    tx_bytes: int | None
    rx_bytes: int | None


class PortSampler:
    """Tells how busy ports were since the sample before.

    Safe to call from several threads. Files are held open between samples, and read again each time: state and rate too, so
    that a link which comes up late, goes down or renegotiates is seen. Ports that aren't named are never read.

    Usable as a context manager, which closes it.
    """

    def __init__(
        self,
        ports: Iterable[PortId],
        *,
        root: str | os.PathLike[str] = DEFAULT_ROOT,
        clock: Callable[[], float] = time.monotonic,
        min_window_seconds: float = 0.1,
        statistics: PortStatistics | None = None,
    ) -> None:
        """Name the ports; nothing is opened yet.

        Args:
            ports: The ports to sample. They need not exist now.
            root: The class directory.
            clock: Monotonic seconds.
            min_window_seconds: Shortest time between two samples that gives a value.
            statistics: What to ask for counters that no file shows. By default the kernel, over netlink, when `root` is where it
                lists its devices; a tree elsewhere is another machine's, or a copy. `enable` and `close` do the same to it.

        Raises:
            ValueError: `min_window_seconds` is negative or not finite.
        """
        if not (math.isfinite(min_window_seconds) and min_window_seconds >= 0):
            raise ValueError(f"min_window_seconds is {min_window_seconds!r}; give a finite number of at least 0")
        self._clock = clock
        self._lock = Lock()
        if statistics is None and Path(root) == DEFAULT_ROOT:
            statistics = NetlinkStatistics()
        self._statistics = statistics
        self._ports = {
            port: _HeldPort(CounterReader(port, directory, statistics), directory, min_window_seconds)
            for port in ports
            for directory in (port_directory(port, root),)
        }

    def sample(self) -> Mapping[PortId, Utilization]:
        """Read every port now and compare; one entry a port, in the order they were named. Never raises for what it reads."""
        with self._lock:
            clock, measured = self._clock, {}
            for port, held in self._ports.items():
                # The clock first: a sample that is held up after it makes the window look short, and the port busier than it is.
                measured[port] = held.sample(clock())
            return MappingProxyType(measured)

    def totals(self) -> Mapping[PortId, ByteTotals]:
        """Read every port's byte counters as they stand now; the windows of `sample` go on as if it hadn't been called."""
        with self._lock:
            return MappingProxyType({port: held.totals() for port, held in self._ports.items()})

    def enable(self) -> None:
        """Read files again that once answered EINVAL, and look for the preferred counters again."""
        with self._lock:
            if self._statistics is not None:
                self._statistics.enable()
            for held in self._ports.values():
                held.enable()

    def close(self) -> None:
        """Let go of the files. A later sample opens them again and has nothing to compare with."""
        with self._lock:
            if self._statistics is not None:
                self._statistics.close()
            for held in self._ports.values():
                held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _HeldPort:
    """The open files of one port, and what to compare with."""

    __slots__ = (
        "_baseline",
        "_counters",
        "_directory",
        "_min_window_seconds",
        "_rate",
        "_state",
        "_steady",
    )

    def __init__(self, counters: CounterReader, directory: Path, min_window_seconds: float) -> None:
        self._directory = directory
        self._min_window_seconds = min_window_seconds
        self._counters = counters
        self._state = HeldValue(str(directory / "state"), _active)
        self._rate = HeldValue(str(directory / "rate"), _bytes_per_second)
        self._baseline: PortSample | None = None
        self._steady: SteadyPort | None = None

    def sample(self, seconds: float) -> Utilization:
        """Read now and compare."""
        steady = self._steady
        if steady is not None:
            measured = steady.sample(seconds)
            if measured is not None:
                return measured
            self._leave_steady(steady)
        before, now = self._baseline, self._read(seconds)
        measured = measure(before, now, min_window_seconds=self._min_window_seconds)
        self._baseline = next_baseline(before, now, measured)
        files = self._counters.pair() if measured.reason is None else None
        if files is not None:
            self._steady = steady_after(now, files, self._state, self._rate, self._min_window_seconds)
        return measured

    def totals(self) -> ByteTotals:
        counters = self._counters.read()
        if counters is None:
            return ByteTotals(None, None)
        return ByteTotals(_total(counters.source, counters.tx), _total(counters.source, counters.rx))

    def enable(self) -> None:
        if self._steady is not None:
            self._leave_steady(self._steady)
        self._counters.enable()

    def close(self) -> None:
        self._baseline = self._steady = None
        self._counters.close()
        self._state.file.close()
        self._rate.file.close()

    def _leave_steady(self, steady: SteadyPort) -> None:
        self._baseline, self._steady = steady.last(), None

    def _read(self, seconds: float) -> PortSample:
        self._counters.forget_unlinked()
        for value in (self._state, self._rate):
            if value.file.unlinked:
                value.file.close()
        counters, active, rate = self._counters.read(), self._state.read(), self._rate.read()
        present = counters is not None or self._state.data is not None or self._directory.is_dir()
        return PortSample(seconds, counters, rate, active, self._counters.cache_seconds(), present)


def _total(source: ByteSource, values: tuple[int, ...] | None) -> int | None:
    if values is None or not all_ones(source).isdisjoint(values):
        return None
    return sum(values) * source.bytes_per_count


def _active(text: str) -> bool | None:
    return is_active(parse_state(text))


def _bytes_per_second(text: str) -> float | None:
    try:
        return parse_link_rate(text).bytes_per_second
    except LinkRateError:
        return None

"""Sampling ports: reads them when asked and compares with what was read before. Never sleeps, starts no thread."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Self

from nic_metrics._reading import HeldFile
from nic_metrics.counters import CounterReader
from nic_metrics.errors import LinkRateError
from nic_metrics.interfaces import PortStatistics
from nic_metrics.link_rate import parse_link_rate
from nic_metrics.netlink import NetlinkStatistics
from nic_metrics.ports import DEFAULT_ROOT, PortId, is_active, parse_state, port_directory
from nic_metrics.utilization import PortSample, Utilization, measure, next_baseline


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
                lists its devices; a tree elsewhere is another machine's, or a copy. The sampler opens and closes it.

        Raises:
            ValueError: `min_window_seconds` is negative or not finite.
        """
        if not (math.isfinite(min_window_seconds) and min_window_seconds >= 0):
            raise ValueError(f"min_window_seconds is {min_window_seconds!r}; give a finite number of at least 0")
        self._clock = clock
        self._min_window_seconds = min_window_seconds
        if statistics is None and Path(root) == DEFAULT_ROOT:
            statistics = NetlinkStatistics()
        self._statistics = statistics
        self._lock = Lock()
        self._readers = {port: _PortReader(port, port_directory(port, root), statistics) for port in ports}
        self._baselines: dict[PortId, PortSample | None] = dict.fromkeys(self._readers)

    def sample(self) -> Mapping[PortId, Utilization]:
        """Read every port now and compare; one entry a port, in the order they were named. Never raises for what it reads."""
        with self._lock:
            return MappingProxyType({port: self._sample_one(port, reader) for port, reader in self._readers.items()})

    def enable(self) -> None:
        """Read files again that once answered EINVAL, and look for the preferred counters again."""
        with self._lock:
            if self._statistics is not None:
                self._statistics.enable()
            for reader in self._readers.values():
                reader.counters.enable()

    def close(self) -> None:
        """Let go of the files. A later sample opens them again and has nothing to compare with."""
        with self._lock:
            for port, reader in self._readers.items():
                reader.close()
                self._baselines[port] = None
            if self._statistics is not None:
                self._statistics.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sample_one(self, port: PortId, reader: "_PortReader") -> Utilization:
        before = self._baselines[port]
        # The clock first: a sample that is held up in between makes the window look short, and the port busier than it is.
        now = reader.read(self._clock())
        measured = measure(before, now, min_window_seconds=self._min_window_seconds)
        self._baselines[port] = next_baseline(before, now, measured)
        return measured


class _PortReader:
    """The open files of one port."""

    def __init__(self, port: PortId, directory: Path, statistics: PortStatistics | None) -> None:
        self._directory = directory
        self.counters = CounterReader(directory, port, statistics)
        self._state = HeldFile(str(directory / "state"))
        self._rate = HeldFile(str(directory / "rate"))
        # The texts hardly ever change, and reading one costs more than reading the file.
        self._state_read: tuple[bytes | None, bool | None] = (None, None)
        self._rate_read: tuple[bytes | None, float | None] = (None, None)

    def read(self, seconds: float) -> PortSample:
        counters = self.counters.read()
        state = self._state.read()
        if state != self._state_read[0]:
            self._state_read = (state, _active(state))
        rate = self._rate.read()
        if rate != self._rate_read[0]:
            self._rate_read = (rate, _bytes_per_second(rate))
        return PortSample(
            seconds,
            counters,
            self._rate_read[1],
            self._state_read[1],
            self.counters.cache_seconds(),
            counters is not None or state is not None or self._directory.is_dir(),
        )

    def close(self) -> None:
        self.counters.close()
        self._state.close()
        self._rate.close()


def _active(data: bytes | None) -> bool | None:
    return None if data is None else is_active(parse_state(data.decode("utf-8", "replace")))


def _bytes_per_second(data: bytes | None) -> float | None:
    try:
        return None if data is None else parse_link_rate(data.decode("utf-8", "replace")).bytes_per_second
    except LinkRateError:
        return None

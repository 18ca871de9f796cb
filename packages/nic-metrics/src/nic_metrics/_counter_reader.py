"""Reading the byte counters of a port: from the best source that it has, for as long as that source is there."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nic_metrics._reading import HeldFile
from nic_metrics.counters import BYTE_SOURCES, NETLINK_SOURCES, ByteSource, CounterSet, count
from nic_metrics.interfaces import PortStatistics
from nic_metrics.ports import PortId


class CounterReader:
    """Reads the byte counters of one port from the best source that it has; holds its files open.

    It stays with a source for as long as its files exist and let themselves be read: an error that passes must not lead to worse
    counters, which may stand still where the better ones move. A file that answers EINVAL isn't opened again:
    some drivers make the kernel log a line each time. Not thread-safe.
    """

    def __init__(self, port: PortId, directory: Path, statistics: PortStatistics | None) -> None:
        """Name the port, its directory and what to ask where no file counts; nothing is opened yet."""
        self._port = port
        self._directory = directory
        self._statistics = statistics
        self._files: dict[str, HeldFile] = {}
        self._current: _SourceFiles | _SourceStatistics | None = None

    def read(self) -> CounterSet | None:
        """Read now; None when no source gives either direction."""
        current = self._current
        if current is not None:
            found = current.read()
            if (found.tx is not None and found.rx is not None) or current.held:
                return None if found.tx is None and found.rx is None else found
        best: CounterSet | None = None
        for found, where in self._look():
            complete = found.tx is not None and found.rx is not None
            if complete or (best is None and (found.tx is not None or found.rx is not None)):
                best, self._current = found, where
            if complete:
                break
        return best

    def cache_seconds(self) -> float:
        """Tell for how long the kernel keeps values of the source in use; 0 when it doesn't."""
        if self._current is None or not self._current.cached:
            return 0.0
        milliseconds = _values((self._file("hw_counters/lifespan"),))
        return milliseconds[0] / 1000 if milliseconds is not None else 0.0

    def pair(self) -> tuple[HeldFile, HeldFile] | None:
        """Give the files in use, sending and receiving; None when there are more, or the kernel keeps their values."""
        current = self._current
        return None if current is None or current.cached else current.pair

    def forget_unlinked(self) -> None:
        """Let go of files that were replaced or removed without saying so."""
        for file in self._files.values():
            if file.unlinked:
                file.close()

    def enable(self) -> None:
        """Try every file and the preferred source again."""
        self._current = None
        for file in self._files.values():
            file.enable()

    def close(self) -> None:
        """Let go of the files; the next read opens them again."""
        for file in self._files.values():
            file.close()

    def _look(self) -> "Iterator[tuple[CounterSet, _SourceFiles | _SourceStatistics]]":
        """Read every source, the preferred first; the kernel is asked only by those for whom no file is enough."""
        for source in BYTE_SOURCES:
            files = _SourceFiles(source, self._file)
            yield files.read(), files
        if self._statistics is None:
            return
        read = self._statistics.read(self._port)
        if read is None:
            return
        for source in NETLINK_SOURCES:
            yield _counter_set(source, *read), _SourceStatistics(source, self._port, self._statistics)

    def _file(self, name: str) -> HeldFile:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = HeldFile(f"{self._directory}/{name}", refusable=True)
        return file


class _SourceFiles:
    """The files of one source of one port."""

    __slots__ = ("_files", "_rx", "_source", "_tx", "cached", "pair")

    def __init__(self, source: ByteSource, file: Callable[[str], HeldFile]) -> None:
        self._source = source
        self._tx = tuple(map(file, source.tx_files))
        self._rx = tuple(map(file, source.rx_files))
        self._files = self._tx + self._rx
        self.cached = source.cached
        self.pair = (self._tx[0], self._rx[0]) if len(self._tx) == len(self._rx) == 1 else None

    @property
    def held(self) -> bool:
        """Whether every file is open."""
        return all(file.held for file in self._files)

    def read(self) -> CounterSet:
        """Read both directions now."""
        tx, rx = _values(self._tx), _values(self._rx)
        generation = 0
        for file in self._files:
            generation += file.generation
        return CounterSet(self._source, tx, rx, generation)


class _SourceStatistics:
    """The statistics of one source of one port."""

    __slots__ = ("_port", "_source", "_statistics")
    cached = False
    pair = None

    def __init__(self, source: ByteSource, port: PortId, statistics: PortStatistics) -> None:
        self._source = source
        self._port = port
        self._statistics = statistics

    @property
    def held(self) -> bool:
        """Whether the device is there."""
        return self._statistics.knows(self._port)

    def read(self) -> CounterSet:
        """Read both directions now."""
        read = self._statistics.read(self._port)
        return CounterSet(self._source, None, None) if read is None else _counter_set(self._source, *read)


def _counter_set(source: ByteSource, index: int, counters: Mapping[str, int]) -> CounterSet:
    """Pick a source's counters out of a port's statistics."""
    tx, rx = (
        tuple(counters[name] for name in names) if all(name in counters for name in names) else None
        for names in (source.tx_files, source.rx_files)
    )
    return CounterSet(source, tx, rx, index)


def _values(files: tuple[HeldFile, ...]) -> tuple[int, ...] | None:
    values: tuple[int, ...] = ()
    for file in files:
        value = count(file.read())
        if value is None:
            return None
        values += (value,)
    return values

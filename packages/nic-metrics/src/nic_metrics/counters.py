"""Which files hold the bytes that a port sent and received, and reading them.

A file's name says what it counts; the device's name says nothing. `port_xmit_data` and its kin count words of four octets
whatever the width of the link (IBTA's PortCounters), the totals under `hw_counters` count bytes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nic_metrics._reading import HeldFile
from nic_metrics.interfaces import PortStatistics
from nic_metrics.ports import PortId

_BYTES_PER_WORD = 4
_HW = "hw_counters/"
_LARGEST = 2**64 - 1
_MOST_DIGITS = len(str(_LARGEST))


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Files, or statistics that no file shows, that together give the bytes of both directions.

    Attributes:
        name: What to call it, in outputs too: its directory, and the family of names within where there are several.
        tx_files: Files of the sending direction, relative to the port's directory, or names of statistics; they add up.
        rx_files: Files of the receiving direction; they add up.
        bytes_per_count: Bytes that one count stands for: 4 for words, 1 for bytes.
        may_be_32_bit: Whether the register may have 32 bits only: without the extended width of IBTA it stops at 2**32 - 1,
            and some devices start over.
    """

    name: str
    tx_files: tuple[str, ...]
    rx_files: tuple[str, ...]
    bytes_per_count: int = 1
    may_be_32_bit: bool = False

    @property
    def cached(self) -> bool:
        """Whether the kernel keeps values of these files for `hw_counters/lifespan` milliseconds."""
        return self.tx_files[0].startswith(_HW)


BYTE_SOURCES = (
    ByteSource(
        "counters_ext", ("counters_ext/port_xmit_data_64",), ("counters_ext/port_rcv_data_64",), _BYTES_PER_WORD
    ),
    ByteSource(
        "counters", ("counters/port_xmit_data",), ("counters/port_rcv_data",), _BYTES_PER_WORD, may_be_32_bit=True
    ),
    # mlx5, where its optional counters are shown as files.
    ByteSource("hw_counters/rdma_bytes", ("hw_counters/rdma_tx_bytes",), ("hw_counters/rdma_rx_bytes",)),
    # EFA and bnxt_re.
    ByteSource("hw_counters/bytes", ("hw_counters/tx_bytes",), ("hw_counters/rx_bytes",)),
    # ionic counts unicast and multicast apart.
    ByteSource(
        "hw_counters/rdma_cast_bytes",
        ("hw_counters/tx_rdma_ucast_bytes", "hw_counters/tx_rdma_mcast_bytes"),
        ("hw_counters/rx_rdma_ucast_bytes", "hw_counters/rx_rdma_mcast_bytes"),
    ),
    # erdma.
    ByteSource("hw_counters/bytes_cnt", ("hw_counters/hw_tx_bytes_cnt",), ("hw_counters/hw_rx_bytes_cnt",)),
    # irdma counts IPv4 and IPv6 apart.
    ByteSource(
        "hw_counters/ip_octets",
        ("hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets"),
        ("hw_counters/ip4InOctets", "hw_counters/ip6InOctets"),
    ),
)
"""Every source of files that is known, the preferred first."""

NETLINK_SOURCES = tuple(
    ByteSource(
        source.name.replace(_HW, "netlink/"),
        tuple(name.removeprefix(_HW) for name in source.tx_files),
        tuple(name.removeprefix(_HW) for name in source.rx_files),
    )
    for source in BYTE_SOURCES
    if source.cached
)
"""The same totals as statistics over netlink, where a driver's `hw_counters` aren't shown as files; never cached."""


class CounterValue(NamedTuple):
    """A counter at one moment.

    Attributes:
        value: The count, 0 to 2**64 - 1.
        generation: How often the file had been opened, or the kernel's index of the device; a difference between two counts means
            nothing across openings or devices.
    """

    value: int
    generation: int = 1


class CounterSet(NamedTuple):
    """The counters of a port at one moment.

    Attributes:
        source: The files they were read from.
        tx: Values of `source.tx_files`; None when one of them can't be read.
        rx: Values of `source.rx_files`; None when one of them can't be read.
    """

    source: ByteSource
    tx: tuple[CounterValue, ...] | None
    rx: tuple[CounterValue, ...] | None


class CounterReader:
    """Reads the byte counters of one port from the best source that it has; holds its files open.

    It stays with a source for as long as its files exist and let themselves be read: an error that passes must not lead to worse
    counters, which may stand still where the better ones move. A file that answers EINVAL isn't opened again:
    some drivers make the kernel log a line each time. Not thread-safe.
    """

    def __init__(self, directory: Path, port: PortId, statistics: PortStatistics | None) -> None:
        """Name the port, its directory and what to ask where no file does; nothing is opened yet."""
        self._directory = directory
        self._port = port
        self._statistics = statistics
        self._files: dict[str, HeldFile] = {}
        self._source: ByteSource | None = None
        self._is_file = True

    def read(self) -> CounterSet | None:
        """Read now; None when no source gives either direction."""
        current = self._source
        if current is not None:
            found = self._read(current) if self._is_file else _first(self._read_statistics((current,)))
            if found is not None and found.tx is not None and found.rx is not None:
                return found
            if self._holds(current):
                return found if found is not None and (found.tx is not None or found.rx is not None) else None
        best = _first(chain(map(self._read, BYTE_SOURCES), self._read_statistics(NETLINK_SOURCES)))
        if best is not None:
            self._source = best.source
            self._is_file = best.source in BYTE_SOURCES
        return best

    def cache_seconds(self) -> float:
        """Tell for how long the kernel keeps values of the source in use; 0 when it doesn't."""
        if self._source is None or not self._source.cached:
            return 0.0
        milliseconds = self._value("hw_counters/lifespan")
        return milliseconds.value / 1000 if milliseconds is not None else 0.0

    def enable(self) -> None:
        """Try every file and the preferred source again."""
        self._source = None
        for file in self._files.values():
            file.enable()

    def close(self) -> None:
        """Let go of the files; the next read opens them again."""
        for file in self._files.values():
            file.close()

    def _read(self, source: ByteSource) -> CounterSet:
        return CounterSet(source, self._values(source.tx_files), self._values(source.rx_files))

    def _read_statistics(self, sources: Iterable[ByteSource]) -> Iterator[CounterSet]:
        read = self._statistics.read(self._port) if self._statistics is not None else None
        if read is not None:
            index, counters = read
            for source in sources:
                tx, rx = (
                    tuple(CounterValue(counters[name], index) for name in names)
                    if counters.keys() >= set(names)
                    else None
                    for names in (source.tx_files, source.rx_files)
                )
                yield CounterSet(source, tx, rx)

    def _holds(self, source: ByteSource) -> bool:
        if not self._is_file:
            return self._statistics is not None and self._statistics.knows(self._port)
        return all(name in self._files and self._files[name].held for name in source.tx_files + source.rx_files)

    def _values(self, names: tuple[str, ...]) -> tuple[CounterValue, ...] | None:
        values: tuple[CounterValue, ...] = ()
        for name in names:
            value = self._value(name)
            if value is None:
                return None
            values += (value,)
        return values

    def _value(self, name: str) -> CounterValue | None:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = HeldFile(f"{self._directory}/{name}", refusable=True)
        data = file.read()
        # "N/A (no PMA)", nothing at all and signs are no counts; digits of any length must not become a slow conversion.
        if data is None or not (digits := data.strip()).isdigit() or len(digits) > _MOST_DIGITS:
            return None
        value = int(digits)
        return CounterValue(value, file.generation) if value <= _LARGEST else None


def _first(found: Iterable[CounterSet]) -> CounterSet | None:
    """Give the first with both directions, otherwise the first with one."""
    best: CounterSet | None = None
    for counters in found:
        if counters.tx is not None and counters.rx is not None:
            return counters
        if best is None and (counters.tx is not None or counters.rx is not None):
            best = counters
    return best

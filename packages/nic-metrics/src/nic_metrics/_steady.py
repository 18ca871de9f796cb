"""The ordinary sample, read and measured in one go: the same files as before, counts that grew, a link that didn't change.

Nearly every sample is one of these. `measure` says the same of it and takes three times as long, because it has to think of
everything else; whatever is out of the ordinary is left to it.
"""

from nic_metrics._reading import HeldFile, HeldValue
from nic_metrics.counters import CounterSet, count
from nic_metrics.utilization import SHORTEST_SECONDS, PortSample, Utilization, all_ones

# A named tuple's own constructor takes its arguments one by one, which costs as much as reading a file.
_new_tuple = tuple.__new__


class SteadyPort:
    """A port after a measured sample, for as long as nothing happens to it but traffic. Not thread-safe."""

    __slots__ = (
        "_all_ones",
        "_before",
        "_bytes_per_count",
        "_generation",
        "_link",
        "_min_window_seconds",
        "_rate",
        "_rate_file",
        "_rx",
        "_rx_file",
        "_seconds",
        "_source",
        "_source_name",
        "_state",
        "_state_file",
        "_tx",
        "_tx_file",
    )

    def __init__(
        self,
        before: PortSample,
        counters: CounterSet,
        counts: tuple[int, int],
        link: float,
        files: tuple[HeldFile, HeldFile],
        state: HeldValue[bool],
        rate: HeldValue[float],
        min_window_seconds: float,
    ) -> None:
        self._before, self._seconds, self._link = before, before.seconds, link
        self._source, self._generation = counters.source, counters.generation
        self._source_name, self._bytes_per_count = counters.source.name, counters.source.bytes_per_count
        self._all_ones = all_ones(counters.source)
        self._tx, self._rx = counts
        self._tx_file, self._rx_file = files
        self._state_file, self._state = state.file, state.data
        self._rate_file, self._rate = rate.file, rate.data
        self._min_window_seconds = max(min_window_seconds, SHORTEST_SECONDS)

    def sample(self, seconds: float) -> Utilization | None:
        """Read now and compare; None when something is out of the ordinary, and then nothing has changed here."""
        tx, rx = count(self._tx_file.read()), count(self._rx_file.read())
        if (
            tx is None
            or rx is None
            or self._state_file.read() != self._state
            or self._rate_file.read() != self._rate
            or self._tx_file.generation + self._rx_file.generation != self._generation
            or tx in self._all_ones
            or rx in self._all_ones
        ):
            return None
        window_seconds, tx_counts, rx_counts = seconds - self._seconds, tx - self._tx, rx - self._rx
        if window_seconds < self._min_window_seconds or tx_counts < 0 or rx_counts < 0:
            return None
        # Files that nothing leads to any more look like an idle port.
        if not (tx_counts and rx_counts) and self._unlinked(tx_counts, rx_counts):
            return None
        tx_rate = tx_counts * self._bytes_per_count / window_seconds
        rx_rate = rx_counts * self._bytes_per_count / window_seconds
        link = self._link
        busier = max(rx_rate, tx_rate)
        if busier > link:
            return None
        self._seconds, self._tx, self._rx = seconds, tx, rx
        return _new_tuple(Utilization, (busier / link, None, tx_rate, rx_rate, link, self._source_name, None))

    def _unlinked(self, tx_counts: int, rx_counts: int) -> bool:
        """Tell whether a file that stood still stands in the tree no more, or the port's state and rate don't while both do."""
        return (
            (not tx_counts and self._tx_file.unlinked)
            or (not rx_counts and self._rx_file.unlinked)
            or (not (tx_counts or rx_counts) and (self._state_file.unlinked or self._rate_file.unlinked))
        )

    def last(self) -> PortSample:
        """Give the newest sample, for the next to be compared with."""
        counters = CounterSet(self._source, (self._tx,), (self._rx,), self._generation)
        return self._before._replace(seconds=self._seconds, counters=counters)


def steady_after(
    sample: PortSample,
    files: tuple[HeldFile, HeldFile],
    state: HeldValue[bool],
    rate: HeldValue[float],
    min_window_seconds: float,
) -> SteadyPort | None:
    """Go on from a sample that was measured; None when a direction or the capacity is unknown.

    Args:
        sample: The sample.
        files: Its counters' files, sending and receiving; not those of which the kernel keeps values.
        state: The port's state, as it was read for the sample.
        rate: The port's rate, as it was read for the sample.
        min_window_seconds: Shortest window that is measured.
    """
    counters, link = sample.counters, sample.link_bytes_per_second
    if counters is None or counters.tx is None or counters.rx is None or link is None:
        return None
    (tx,), (rx,) = counters.tx, counters.rx
    return SteadyPort(sample, counters, (tx, rx), link, files, state, rate, min_window_seconds)

"""The load of the NICs that transfers use, measured when it is asked for.

Which ports these are is told by the caller: `NicSignal` takes a list. Whoever finds the list out at run time wraps this, or
implements `Signal`.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from threading import Lock

from nic_metrics._fork import renew_after_fork
from nic_metrics.blend import busiest
from nic_metrics.interfaces import SignalReading, SignalReason
from nic_metrics.ports import DEFAULT_ROOT, PortId
from nic_metrics.sampler import PortSampler
from nic_metrics.utilization import UnknownReason, Utilization

_GOES_ON = frozenset({UnknownReason.WINDOW_TOO_SHORT, UnknownReason.NO_BYTE_COUNTER})


class Combine(StrEnum):
    """How several ports make one load."""

    RAILS = "rails"
    """They carry the same transfers: the bytes of all over the capacity of all."""

    BUSIEST = "busiest"
    """It isn't known which of them carries the transfers: the busiest one's load."""


class NicSignal:
    """Tells how busy some ports were since they were last asked for. A `Signal`."""

    _lock: Lock
    _sampler: PortSampler
    _since: float
    _last: tuple[SignalReading, float] | None

    def __init__(
        self,
        ports: Iterable[PortId],
        *,
        combine: Combine = Combine.RAILS,
        root: str | os.PathLike[str] = DEFAULT_ROOT,
        clock: Callable[[], float] = time.monotonic,
        min_window_seconds: float = 0.1,
        max_window_seconds: float = 120.0,
    ) -> None:
        """Name the ports, and take the first sample of them.

        Args:
            ports: The ports, at least one. They need not exist now.
            combine: How several make one load.
            root: The class directory.
            clock: Monotonic seconds.
            min_window_seconds: Within it, the reading before is given again.
            max_window_seconds: Longest time since the sample before over which a mean still says something about now.

        Raises:
            ValueError: No port is named, or a window isn't a finite number of at least 0.
        """
        self._ports = tuple(ports)
        if not self._ports:
            raise ValueError("no port is named: name at least one, such as PortId('mlx5_0')")
        if not (math.isfinite(max_window_seconds) and max_window_seconds >= 0):
            raise ValueError(f"max_window_seconds is {max_window_seconds!r}; give a finite number of at least 0")
        self._combine = combine
        self._clock = clock
        self._max_window_seconds = max_window_seconds
        self._root = root
        self._min_window_seconds = min_window_seconds
        self._start()
        renew_after_fork(self)
        self.read()

    def read(self) -> SignalReading:
        """Read the counters now, and tell the load since the reading before."""
        with self._lock:
            now = self._clock()
            uses = self._sampler.sample()
            reasons = {use.reason for use in uses.values()}
            if UnknownReason.WINDOW_TOO_SHORT in reasons and self._last is not None:
                reading, at = self._last
                return replace(reading, age_seconds=now - at)
            window_seconds = now - self._since
            if not reasons & _GOES_ON:
                self._since = now
            reading = combine_ports(uses, self._combine)
            if reading.value is not None and window_seconds > self._max_window_seconds:
                detail = f"{window_seconds:.0f} s, at most {self._max_window_seconds:g} s"
                reading = SignalReading(None, SignalReason.WINDOW_TOO_LONG, detail=detail)
            self._last = reading, now
            return reading

    def close(self) -> None:
        """Let go of the files; a later reading opens them again."""
        with self._lock:
            self._sampler.close()

    def _start(self) -> None:
        self._lock = Lock()
        self._sampler = PortSampler(
            self._ports, root=self._root, clock=self._clock, min_window_seconds=self._min_window_seconds
        )
        self._since = self._clock()
        self._last = None

    def _after_fork(self) -> None:
        # The parent's sampler may be locked for good here; what it held open is the parent's window.
        self._start()


def combine_ports(uses: Mapping[PortId, Utilization], combine: Combine) -> SignalReading:
    """Make one load of several ports.

    A port that is down carries nothing and could carry nothing, so it is left out where another one is up. Any other port whose
    use is unknown makes the rails' load unknown; of the busiest, it leaves a lower bound, unless that is 0.

    Args:
        uses: What a sampler told of each port, at least one.
        combine: How they make one.
    """
    up = {port: use for port, use in uses.items() if use.reason is not UnknownReason.PORT_NOT_ACTIVE} or uses
    value = _rails(up.values()) if combine is Combine.RAILS else busiest({port: use.value for port, use in up.items()})
    if value is not None:
        return SignalReading(value, None, detail=", ".join(_text(port, use) for port, use in up.items()))
    port, reason = next((port, use.reason) for port, use in up.items() if use.reason is not None)
    return SignalReading(None, reason, detail=f"{port.device}:{port.port}")


def _rails(uses: Iterable[Utilization]) -> float | None:
    tx = rx = link = 0.0
    for use in uses:
        if use.value is None or use.link_bytes_per_second is None:
            return None
        tx += use.tx_bytes_per_second or 0.0
        rx += use.rx_bytes_per_second or 0.0
        link += use.link_bytes_per_second
    return min(1.0, max(tx, rx) / link)


def _text(port: PortId, use: Utilization) -> str:
    known = f"{port.device}:{port.port} {'unknown' if use.value is None else f'{use.value:.3f}'}"
    source = f" by {use.source}" if use.source is not None else f" {use.reason}"
    return known + source + (f" (at least, {use.missing} can't be read)" if use.missing is not None else "")

"""The load of the NICs that transfers use, measured when it is asked for."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import Lock

from nic_metrics._fork import renew_after_fork
from nic_metrics.blend import LOOKS_IDLE_BELOW
from nic_metrics.combining import busiest, combine_rails
from nic_metrics.interfaces import Signal
from nic_metrics.nic_choice import Combination, NicChoice
from nic_metrics.ports import DEFAULT_ROOT, PortId
from nic_metrics.sampler import PortSampler
from nic_metrics.signals import SignalReading, SignalReason, UnknownSignal
from nic_metrics.utilization import UnknownReason, Utilization

_GOES_ON = frozenset({UnknownReason.WINDOW_TOO_SHORT, UnknownReason.NO_BYTE_COUNTER})


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
        combine: Callable[[Iterable[Utilization]], Utilization] = combine_rails,
        root: str | os.PathLike[str] = DEFAULT_ROOT,
        clock: Callable[[], float] = time.monotonic,
        min_window_seconds: float = 0.1,
        max_window_seconds: float = 120.0,
    ) -> None:
        """Name the ports, and take the first sample of them.

        Args:
            ports: The ports, at least one. They need not exist now.
            combine: Makes one number of several: `combine_rails` where they share the traffic, `busiest` where any of them may
                carry it.
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
            use = self._combine(uses.values())
            if use.value is not None and window_seconds > self._max_window_seconds:
                detail = f"{window_seconds:.0f} s, at most {self._max_window_seconds:g} s"
                reading = SignalReading(None, SignalReason.WINDOW_TOO_LONG, detail=detail)
            elif use.missing is not None and use.value is not None and use.value < LOOKS_IDLE_BELOW:
                reading = SignalReading(None, SignalReason.ONE_DIRECTION, detail=_text(uses, use))
            else:
                reading = SignalReading(use.value, use.reason, detail=_text(uses, use))
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


def nic_signal(
    choice: NicChoice, *, root: str | os.PathLike[str] = DEFAULT_ROOT, clock: Callable[[], float] = time.monotonic
) -> Signal:
    """Return what tells the load of the ports that `choose_nics` chose; where it chose none, a signal that tells why.

    Args:
        choice: The choice.
        root: The class directory.
        clock: Monotonic seconds.
    """
    if choice.reason is not None:
        return UnknownSignal(choice.reason, choice.detail)
    combine = combine_rails if choice.combination is Combination.RAILS else busiest
    return NicSignal(choice.ports, combine=combine, root=root, clock=clock)


def _text(uses: Mapping[PortId, Utilization], combined: Utilization) -> str:
    ports = ", ".join(
        f"{port.device}:{port.port} {use.reason if use.value is None else f'{use.value:.3f}'}"
        for port, use in uses.items()
    )
    by = "" if combined.source is None else f" by {combined.source}"
    return ports + by + ("" if combined.missing is None else f", at least: {combined.missing} can't be read")

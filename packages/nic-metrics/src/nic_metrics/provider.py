"""The one load that a weight source publishes about itself, blended from signals."""

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType

from nic_metrics._fork import renew_after_fork
from nic_metrics.blend import Blend, greatest
from nic_metrics.interfaces import Signal
from nic_metrics.signals import SignalReading, SignalReason

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """A load and how it came about.

    Attributes:
        value: The load that is published, 0 to 1; None when it is unknown.
        reason: Why `value` is None, or why it isn't a load of now; None for a load of now.
        signals: What each signal told when the load was asked for, after the limits of age and range.
        blended: The blend of now, before smoothing; None when unknown.
        held_seconds: How long ago `value` was known, when it stands in for an unknown one; else None.
    """

    value: float | None
    reason: str | None
    signals: Mapping[str, SignalReading]
    blended: float | None = None
    held_seconds: float | None = None


class SourceLoadProvider:
    """Blends signals to one load when it is called. Never raises, and never waits for anybody.

    `provider()` reads every signal now and gives the load, or None when it is unknown, which isn't 0: that is what a publisher
    of heartbeats calls. Safe to call from several threads, and in forked children.
    """

    def __init__(
        self,
        signals: Mapping[str, Signal],
        *,
        blend: Blend = greatest,
        max_age_seconds: float = 60.0,
        smoothing_seconds: float = 0.0,
        hold_seconds: float = 0.0,
        unknown_load: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the signals.

        Args:
            signals: By the names under which `explain` tells of them. `close` closes them.
            blend: Makes one load of theirs.
            max_age_seconds: A reading that is older is unknown.
            smoothing_seconds: Time constant of an exponential mean over the blend; 0 is none. It delays the news of a NIC that
                has become busy as much as that of one that has become idle.
            hold_seconds: For how long the last known load stands in for one that is unknown now. 0: an unknown load is
                unknown at once. One that a signal calls `final` always is.
            unknown_load: What an unknown signal counts as, 0 to 1. None: as unknown. 0.0 is the first revision of the design,
                where every failure was an idle source.
            clock: Monotonic seconds.

        Raises:
            ValueError: A time isn't a finite number of at least 0, or `unknown_load` isn't from 0 to 1.
        """
        for name, seconds in (
            ("max_age_seconds", max_age_seconds),
            ("smoothing_seconds", smoothing_seconds),
            ("hold_seconds", hold_seconds),
        ):
            if not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(f"{name} is {seconds!r}; give a finite number of at least 0")
        if unknown_load is not None and not 0 <= unknown_load <= 1:
            raise ValueError(f"unknown_load is {unknown_load!r}; give a number from 0 to 1, or None for unknown")
        self._signals = dict(signals)
        self._blend = blend
        self._max_age_seconds = max_age_seconds
        self._smoothing_seconds = smoothing_seconds
        self._hold_seconds = hold_seconds
        self._unknown_load = unknown_load
        self._clock = clock
        self._start()
        renew_after_fork(self)

    def __call__(self) -> float | None:
        """Tell the load now: 0 to 1, or None when it is unknown."""
        return self._measure().value

    def explain(self) -> SourceLoad:
        """Tell how the last load came about; when none was asked for yet, that of now. Ages are as of now."""
        if self._last is None:
            return self._measure()
        load, at = self._last
        since = max(0.0, self._clock() - at)
        aged = {
            name: replace(reading, age_seconds=reading.age_seconds + since) for name, reading in load.signals.items()
        }
        return replace(load, signals=MappingProxyType(aged))

    def close(self) -> None:
        """Close the signals. Never raises."""
        for name, signal in self._signals.items():
            try:
                signal.close()
            except Exception as error:  # noqa: BLE001 - whatever somebody else's signal raises
                self._report(f"{name} on closing", error)

    def _start(self) -> None:
        self._lock = Lock()
        self._reported: set[str] = set()
        self._known: tuple[float, float] | None = None
        self._last: tuple[SourceLoad, float] | None = None

    def _after_fork(self) -> None:
        self._start()

    def _measure(self) -> SourceLoad:
        signals = MappingProxyType({name: self._read(name, signal) for name, signal in self._signals.items()})
        blended, reason, final = self._blended(signals)
        with self._lock:
            now = self._clock()
            if blended is not None:
                value = self._smoothed(blended, now)
                self._known = value, now
                last = SourceLoad(value, None, signals, blended)
            elif final or self._known is None or now - self._known[1] >= self._hold_seconds:
                self._known = None
                last = SourceLoad(None, reason, signals)
            else:
                value, at = self._known
                last = SourceLoad(value, reason, signals, None, now - at)
            self._last = last, now
            return last

    def _read(self, name: str, signal: Signal) -> SignalReading:
        try:
            reading = signal.read()
            value, age = reading.value, reading.age_seconds
            # Not a number is above nothing and below nothing.
            if not (age >= 0 and (value is None or 0 <= value <= 1)):
                return SignalReading(None, SignalReason.INVALID, detail=f"{value!r}, {age!r} s old")
            if age > self._max_age_seconds:
                detail = f"{age:.0f} s old, at most {self._max_age_seconds:g} s; {reading.detail}"
                return SignalReading(None, SignalReason.TOO_OLD, age, detail)
        except Exception as error:  # noqa: BLE001 - whatever somebody else's signal raises
            self._report(name, error)
            return SignalReading(None, SignalReason.FAILED, detail=repr(error)[:200])
        return reading

    def _blended(self, signals: Mapping[str, SignalReading]) -> tuple[float | None, str | None, bool]:
        """Return the blend, why there is none, and whether nothing may stand in for it."""
        loads = {name: reading.value for name, reading in signals.items()}
        if self._unknown_load is not None:
            loads = {name: self._unknown_load if load is None else load for name, load in loads.items()} or {
                SignalReason.NO_SIGNAL: self._unknown_load
            }
        else:
            final = next(
                (reading for reading in signals.values() if reading.reason is not None and reading.final), None
            )
            if final is not None:
                return None, final.reason, True
            if all(load is None for load in loads.values()):
                return None, SignalReason.ALL_UNKNOWN if loads else SignalReason.NO_SIGNAL, False
        try:
            blended = self._blend(loads)
            if blended is None:
                return None, SignalReason.PARTLY_UNKNOWN, False
            if not 0 <= blended <= 1:
                return None, SignalReason.INVALID, False
            return float(blended), None, False
        except Exception as error:  # noqa: BLE001 - whatever somebody else's blend raises
            self._report("the blend", error)
            return None, SignalReason.FAILED, False

    def _smoothed(self, blended: float, now: float) -> float:
        if self._known is None or not self._smoothing_seconds:
            return blended
        before, at = self._known
        mean = before + (blended - before) * -math.expm1(-max(0.0, now - at) / self._smoothing_seconds)
        return min(1.0, max(0.0, mean))

    def _report(self, what: str, error: Exception) -> None:
        """Log an error when it comes for the first time; it may come with every heartbeat."""
        key = f"{what}: {type(error).__name__}"
        if key not in self._reported:
            self._reported.add(key)
            _log.warning("load unknown: %s failed, which is logged only once", what, exc_info=error)

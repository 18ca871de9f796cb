"""Which ports a command looks at, and looking at them again and again."""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from nic_metrics.errors import NicMetricsError
from nic_metrics.ports import PortId, list_ports

DEFAULT_SYSFS = Path("/sys")
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 3600.0

_Looked = TypeVar("_Looked")


class IntervalError(NicMetricsError):
    """Samples can't be taken at this interval."""


def class_directory(root: Path) -> Path:
    """Return the class directory under what stands for `/sys`; `root` may be that directory itself."""
    return root / "class" / "infiniband" if (root / "class").is_dir() else root


def choose_ports(root: Path, devices: Iterable[str]) -> tuple[PortId, ...]:
    """Return the ports to look at, and say on standard error which devices are passed over.

    Args:
        root: What stands for `/sys`.
        devices: The only devices; none for all. One that isn't there counts with its first port, for it may come.

    Raises:
        PortIdError: No device can have such a name.
    """
    directory, wanted = class_directory(root), tuple(devices)
    inventory = list_ports(directory, devices=set(wanted) or None)
    for skipped in inventory.skipped:
        sys.stderr.write(f"nic-metrics: {skipped.device} is passed over: {skipped.reason}\n")
    ports = [port.id for port in inventory.ports]
    found = {port.device for port in ports}
    ports += [PortId(device) for device in dict.fromkeys(wanted) if device not in found]
    if not ports:
        sys.stderr.write(f"nic-metrics: there is no RDMA device in {directory}\n")
    return tuple(ports)


def check_interval(seconds: float) -> None:
    """Refuse an interval at which nothing can be measured.

    Raises:
        IntervalError: It's too short, too long or no number.
    """
    if math.isnan(seconds) or not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise IntervalError(
            f"--interval {seconds:g} is not allowed: a number from {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} is"
        )


def rounds(
    look: Callable[[], _Looked],
    interval_seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[_Looked]:
    """Look once for something to compare with, then give a look at each interval; none is made up for.

    Args:
        look: Looks once.
        interval_seconds: Between two looks.
        clock: Monotonic seconds.
        sleep: Waits for so many seconds.
    """
    look()
    due = clock()
    while True:
        # One that comes late counts from when it came.
        due = max(due + interval_seconds, clock())
        sleep(due - clock())
        yield look()

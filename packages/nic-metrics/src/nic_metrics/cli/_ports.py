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
        devices: The only devices, or ports of devices, such as `mlx5_0:1`; none for all. A device that isn't there counts with its
            first port, for it may come.

    Raises:
        PortIdError: No device can have such a name.
    """
    directory = class_directory(root)
    wanted = [_device_and_port(name) for name in dict.fromkeys(devices)]
    inventory = list_ports(directory, devices={device for device, _ in wanted} or None)
    for skipped in inventory.skipped:
        sys.stderr.write(f"nic-metrics: {skipped.device} is passed over: {skipped.reason}\n")
    listed = [port.id for port in inventory.ports]
    there = {port.device for port in listed}
    absent = [PortId(device, port or 1) for device, port in wanted if port is not None or device not in there]
    whole = {device for device, port in wanted if port is None}
    ports = list(dict.fromkeys([port for port in listed if not wanted or port.device in whole] + absent))
    if not ports:
        sys.stderr.write(f"nic-metrics: there is no RDMA device in {directory}\n")
    return tuple(ports)


def check_interval(seconds: float, longest_seconds: float = LONGEST_SECONDS) -> None:
    """Refuse an interval at which nothing can be measured.

    Raises:
        IntervalError: It's too short, too long or no number.
    """
    if math.isnan(seconds) or not SHORTEST_SECONDS <= seconds <= longest_seconds:
        raise IntervalError(
            f"--interval {seconds:g} is not allowed: a number from {SHORTEST_SECONDS:g} to {longest_seconds:g} is"
        )


def _device_and_port(name: str) -> tuple[str, int | None]:
    device, _, number = name.rpartition(":")
    return (device, int(number)) if device and number.isascii() and number.isdigit() else (name, None)


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

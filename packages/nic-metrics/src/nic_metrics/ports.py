"""The RDMA devices of a machine and their ports, as they stand under `/sys/class/infiniband`."""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nic_metrics._reading import read_text
from nic_metrics.errors import LinkRateError, LinkRateProblem, PortIdError
from nic_metrics.link_rate import LinkRate, parse_link_rate

DEFAULT_ROOT = Path("/sys/class/infiniband")
"""Where Linux lists RDMA devices."""

_CODED = re.compile(r"(?P<code>[0-9]{1,3})\s*:\s*(?P<word>.*)", re.ASCII | re.DOTALL)
# IBTA's numbers, which the kernel prints in front of the word: Active, and Active with the subnet manager's work deferred.
_ACTIVE_CODES = frozenset({4, 5})


@dataclass(frozen=True, slots=True, order=True)
class PortId:
    """One port of one device.

    Attributes:
        device: The device's name in the class directory, such as `mlx5_0`. Nothing is concluded from it: drivers and udev rules
            name devices as they like.
        port: Number of the port, from 1.

    Raises:
        PortIdError: The name isn't that of a directory entry, or the number is below 1.
    """

    device: str
    port: int = 1

    def __post_init__(self) -> None:
        """Refuse what would lead out of the class directory."""
        if not self.device or "/" in self.device or "\0" in self.device or self.device in {".", ".."} or self.port < 1:
            raise PortIdError(self.device, self.port)

    def __hash__(self) -> int:
        """Hash the name, whose hash is kept: hardly any device has a second port."""
        return hash(self.device)


@dataclass(frozen=True, slots=True)
class CodedState:
    """A state as the kernel prints it: "4: ACTIVE".

    Attributes:
        code: The number; IBTA's.
        word: The kernel's word for it. The number counts: some drivers print the word of another state.
    """

    code: int
    word: str


@dataclass(frozen=True, slots=True)
class Port:
    """What a port says of itself; None where it doesn't say, which many drivers don't.

    Attributes:
        id: The port.
        state: Logical state, such as `4: ACTIVE`.
        phys_state: Physical state, such as `5: LinkUp`.
        link_layer: `InfiniBand`, or `Ethernet` for RoCE and iWARP.
        rate: Capacity of each direction. A port that is down states one too.
        rate_problem: Why `rate` is None, when there was text to read; None too when the file can't be read.
    """

    id: PortId
    state: CodedState | None
    phys_state: CodedState | None
    link_layer: str | None
    rate: LinkRate | None
    rate_problem: LinkRateProblem | None

    @property
    def active(self) -> bool | None:
        """Whether the port can carry traffic; None when its state can't be read."""
        return is_active(self.state)


class SkipReason(StrEnum):
    """Why an entry of the class directory has no port in the inventory."""

    DANGLING_LINK = "dangling_link"
    """A symbolic link to nothing: the class directory is mounted into a container, the devices aren't."""

    NO_PORTS = "no_ports"
    """It has no `ports` directory, no port in it, or one that can't be listed."""


@dataclass(frozen=True, slots=True)
class SkippedDevice:
    """An entry of the class directory that could not be taken for a device.

    Attributes:
        device: Its name.
        reason: Why.
    """

    device: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class PortInventory:
    """The devices of a machine at one moment.

    Attributes:
        ports: Every port, in order of device (mlx5_2 before mlx5_10) and number.
        skipped: What was passed over.
    """

    ports: tuple[Port, ...]
    skipped: tuple[SkippedDevice, ...]


def list_ports(root: str | os.PathLike[str] = DEFAULT_ROOT, *, devices: Collection[str] | None = None) -> PortInventory:
    """List the ports under a class directory.

    A device is listed when sysfs shows it; whether this process may use it (a verbs node in `/dev/infiniband`) is for the
    caller to find out. A bond is one device with a rate of its own.

    Args:
        root: The class directory. One that doesn't exist is a machine without RDMA: the inventory is empty.
        devices: The only devices to look at; None for all. Nothing of any other device is read.

    Raises:
        OSError: The class directory exists and can't be listed.
    """
    try:
        entries = [entry for entry in Path(root).iterdir() if devices is None or entry.name in devices]
    except FileNotFoundError:
        entries = []
    ports: list[Port] = []
    skipped: list[SkippedDevice] = []
    for entry in sorted(entries, key=lambda entry: natural_order(entry.name)):
        numbers = _port_numbers(entry)
        if numbers:
            ports += [read_port(PortId(entry.name, number), root) for number in numbers]
        else:
            reason = SkipReason.NO_PORTS if entry.exists() else SkipReason.DANGLING_LINK
            skipped.append(SkippedDevice(entry.name, reason))
    return PortInventory(tuple(ports), tuple(skipped))


def read_port(port: PortId, root: str | os.PathLike[str] = DEFAULT_ROOT) -> Port:
    """Read what a port says of itself; never raises for what is missing or unreadable.

    Args:
        port: The port.
        root: The class directory.
    """
    directory = port_directory(port, root)
    rate, rate_problem = None, None
    text = read_text(directory / "rate")
    if text is not None:
        try:
            rate = parse_link_rate(text)
        except LinkRateError as error:
            rate_problem = error.problem
    return Port(
        port,
        parse_state(read_text(directory / "state")),
        parse_state(read_text(directory / "phys_state")),
        read_text(directory / "link_layer"),
        rate,
        rate_problem,
    )


def port_directory(port: PortId, root: str | os.PathLike[str]) -> Path:
    """Name the directory of a port."""
    return Path(root) / port.device / "ports" / str(port.port)


def parse_state(text: str | None) -> CodedState | None:
    """Read the text of a `state` or `phys_state`; None when it isn't a number and a word."""
    match = _CODED.fullmatch(text.strip()) if text is not None else None
    return CodedState(int(match["code"]), match["word"]) if match else None


def is_active(state: CodedState | None) -> bool | None:
    """Say whether a port in this logical state carries traffic; None when the state is unknown."""
    return None if state is None else state.code in _ACTIVE_CODES


def natural_order(name: str) -> list[tuple[int, str]]:
    """Give what device names sort by: mlx5_2 before mlx5_10."""
    # Digits by value, everything else as text: pairs, so that a number never meets a word.
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _port_numbers(device: Path) -> list[int]:
    try:
        names = [entry.name for entry in (device / "ports").iterdir()]
    except OSError:
        return []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and int(name) > 0)

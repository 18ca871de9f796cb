"""Sampling ports: our sampler against that of modelexpress 0.7.0 and bare reads of the same files, in one process.

    uv run python benchmarks/nic_sampler.py            # 1 and 8 devices, about 15 seconds
    uv run python benchmarks/nic_sampler.py --short    # the same with fewer rounds

A tree of files stands in for sysfs, where a read costs what the driver takes on top. A folder of its own holds modelexpress' wheel
without its dependencies; only its `__init__`, which imports torch, is stood in for. Counters are written before each round,
then everyone reads once: microseconds of one call, the median of all rounds.

- theirs: `SourceLoadSampler.sample`, which reads both counters of a device; its rate once, its state never.
- ours: `PortSampler.sample`, which reads all four.
- reopened: `os.open`, `os.read` and `os.close` of the files that each of the two reads.
- held: `os.pread` of the files that ours reads, held open: for less they can't be had.

Afterwards both go through what happens to ports, a second at a time, and each answer is compared with the truth, where "unknown" is
true of what can't be measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, NamedTuple

import nic_metrics

MODELEXPRESS = "0.7.0"
DEVICES = (1, 8)
AIM = 4.0
TX, RX = "counters/port_xmit_data", "counters/port_rcv_data"
LINK_WORDS = 12_500_000_000
"""What a link of 400 Gb/s moves in a second, in words of four bytes."""
UP = {"state": "4: ACTIVE\n", "rate": "400 Gb/sec (4X NDR)\n"}
START = 230_442_669_431_839
"""Where a counter of 64 bits stands on a machine that has run for a while."""


class Happening(NamedTuple):
    """What happens to a port, second by second."""

    name: str
    moments: tuple[tuple[int | str, int | str, dict[str, str]], ...]
    """Both counters and other files, at each second."""
    truth: tuple[float | None, ...]
    """Utilisation at each second but the first, None where it can't be known."""


def _traffic(*words: int | str, rx: int | str = 7, link: Sequence[dict[str, str]] = ()) -> Any:
    return tuple((tx, rx, each) for tx, each in zip(words, [*link, *[UP] * (len(words) - len(link))], strict=True))


HALF = LINK_WORDS // 2
DOWN = {"state": "1: DOWN\n", "rate": "10 Gb/sec (4X SDR)\n"}
HAPPENINGS = (
    Happening("traffic", _traffic(START, START + HALF, START + 2 * HALF), (0.5, 0.5)),
    Happening("nothing to send", _traffic(START, START, START), (0.0, 0.0)),
    Happening("counters cleared", _traffic(START, 0, HALF), (None, 0.5)),
    Happening("32 bits start over", _traffic(2**32 - 10**9, 10**9, 2 * 10**9), (2e9 / LINK_WORDS, 1e9 / LINK_WORDS)),
    Happening("32 bits are full", _traffic(2**32 - 1, 2**32 - 1, 2**32 - 1), (None, None)),
    Happening("only one direction", _traffic(START, START + HALF, START + 2 * HALF, rx="N/A (no PMA)\n"), (0.5, 0.5)),
    Happening("link goes down", _traffic(START, START, START, link=[UP, DOWN, DOWN]), (None, None)),
    Happening(
        "link comes up late",
        _traffic(0, 0, HALF, 2 * HALF, link=[{"state": "2: INIT\n", "rate": ""}]),
        (None, 0.5, 0.5),
    ),
    Happening(
        "link at half its rate",
        _traffic(START, START, START + HALF, link=[UP, *[UP | {"rate": "200 Gb/sec (2X NDR)\n"}] * 2]),
        (None, 1.0),
    ),
    Happening("rate in Gb/s", _traffic(START, START + HALF, link=[UP | {"rate": "400 Gb/s\n"}] * 2), (0.5,)),
    Happening("more than the link", _traffic(START, START + 2 * LINK_WORDS), (None,)),
)


class Tree:
    """Devices of one port each, whose counters are written in place."""

    def __init__(self, root: Path, devices: int) -> None:
        self.root = root
        self.devices = [f"mlx5_{index}" for index in range(devices)]
        self._counters: list[int] = []
        for device in self.devices:
            self.write(device, {TX: f"{START}\n", RX: f"{START}\n"} | UP)
            self._counters += [os.open(self._port(device) / name, os.O_WRONLY) for name in (TX, RX)]

    def write(self, device: str, texts: dict[str, str]) -> None:
        """Write files of a device's port."""
        for name, text in texts.items():
            path = self._port(device) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def paths(self, *names: str) -> list[str]:
        """Return these files of every device."""
        return [str(self._port(device) / name) for device in self.devices for name in names]

    def move(self, words: int) -> None:
        """Set every counter, as fast as can be."""
        text = b"%d\n" % words
        for counter in self._counters:
            os.pwrite(counter, text, 0)

    def close(self) -> None:
        """Let go of the files."""
        for counter in self._counters:
            os.close(counter)

    def _port(self, device: str) -> Path:
        return self.root / device / "ports" / "1"


class Samplers:
    """Both libraries; made when modelexpress can be found."""

    def __init__(self) -> None:
        metadata = import_module("importlib.metadata")
        package = ModuleType("modelexpress")
        package.__path__ = [str(metadata.distribution("modelexpress").locate_file("modelexpress"))]
        sys.modules["modelexpress"] = package
        self._theirs: Any = import_module("modelexpress.nic_metrics")
        print(f"modelexpress {metadata.version('modelexpress')} from {self._theirs.__file__}")

    def theirs(self, tree: Tree) -> Callable[[], float | None]:
        """Return their `sample` over every device."""
        self._theirs._IB_SYSFS = str(tree.root)  # noqa: SLF001 - they have no setting for it

        def sampler(device: str) -> Any:
            # Without netlink, which has nothing to say of a device that is a folder.
            return self._theirs.NicUtilizationSampler(
                device, _clock=count(0.0, 1.0).__next__, _nl_counters=lambda *_: {}
            )

        sample: Callable[[], float | None] = self._theirs.SourceLoadSampler(
            0, _resolver=lambda _: None, _sampler_factory=sampler
        ).sample
        return sample

    def ours(self, tree: Tree) -> Callable[[], Any]:
        """Return our `sample` over every device."""
        ports = [nic_metrics.PortId(device) for device in tree.devices]
        clock = count(0.0, 1.0 / len(ports)).__next__
        sample: Callable[[], Any] = nic_metrics.PortSampler(ports, root=tree.root, clock=clock).sample
        return sample


def _reopened(paths: Iterable[str]) -> Callable[[], None]:
    paths = list(paths)

    def read() -> None:
        for path in paths:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            os.read(file, 256)
            os.close(file)

    return read


def _held(paths: Iterable[str]) -> Callable[[], None]:
    files = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths]

    def read() -> None:
        for file in files:
            os.pread(file, 256, 0)

    return read


def microseconds(tree: Tree, calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return what one call of each takes, after counters that moved: the median."""
    taken: dict[str, list[int]] = {name: [] for name in calls}
    for turn in range(rounds):
        tree.move(START + turn * LINK_WORDS // 2)
        for name, call in calls.items():
            start = time.perf_counter_ns()
            call()
            taken[name].append(time.perf_counter_ns() - start)
    return {name: median(times) / 1000 for name, times in taken.items()}


def compare_speed(samplers: Samplers, rounds: int) -> None:
    """Print the table, and how far the aim is reached."""
    print(f"{'':>7}{'sample':>20}{'reopened':>20}{'held':>10}{'theirs / ours':>16}")
    print(f"{'devices':>7}{'theirs':>10}{'ours':>10}{'theirs':>10}{'ours':>10}{'ours':>10}{'':>6}(us a call)")
    ratios = []
    for devices in DEVICES:
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(Path(folder), devices)
            calls: dict[str, Callable[[], object]] = {
                "theirs": samplers.theirs(tree),
                "ours": samplers.ours(tree),
                "their files": _reopened(tree.paths(TX, RX)),
                "our files": _reopened(tree.paths(TX, RX, *UP)),
                "held": _held(tree.paths(TX, RX, *UP)),
            }
            times = microseconds(tree, calls, rounds)
            tree.close()
        ratios.append(times["theirs"] / times["ours"])
        print(f"{devices:>7}" + "".join(f"{took:>10.2f}" for took in times.values()) + f"{ratios[-1]:>16.1f}")
    print(f"samples: {min(ratios):.1f} to {max(ratios):.1f} times as fast as theirs; the aim is at least {AIM:g}")


def compare_truth(samplers: Samplers) -> None:
    """Print what each said of what happens to ports, and how often it was true."""
    right, answers = {"theirs": 0, "ours": 0}, 0
    print(f"{'':<24}{'true':<18}{'theirs':<18}{'ours'}")
    for name, moments, truth in HAPPENINGS:
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(Path(folder), 1)
            said: dict[str, list[float | None]] = {"theirs": [], "ours": []}
            for second, (tx, rx, link) in enumerate(moments):
                texts = {file: f"{each}\n" if isinstance(each, int) else each for file, each in ((TX, tx), (RX, rx))}
                tree.write(tree.devices[0], texts | link)
                if not second:
                    theirs, ours = samplers.theirs(tree), samplers.ours(tree)
                    theirs(), ours()
                    continue
                said["theirs"].append(theirs())
                said["ours"] += [use.value for use in ours().values()]
            tree.close()
        shown = [" ".join("-" if use is None else f"{use:.2f}" for use in uses) for uses in (truth, *said.values())]
        print(f"{name:<24}{shown[0]:<18}{shown[1]:<18}{shown[2]}")
        answers += len(truth)
        for who, uses in said.items():
            right[who] += sum(_same(use, true) for use, true in zip(uses, truth, strict=True))
    print(f"right: theirs {right['theirs']} of {answers}, ours {right['ours']} of {answers}")
    if right["ours"] != answers:
        raise SystemExit("ours isn't right of everything that happens to ports")


def _same(use: float | None, true: float | None) -> bool:
    return use is true if use is None or true is None else abs(use - true) < 1e-6


def main() -> None:
    """Fetch the wheel and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    rounds = 1_500 if parser.parse_args().short else 30_000
    with tempfile.TemporaryDirectory() as folder:
        wheel = f"modelexpress=={MODELEXPRESS}"
        subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel], check=True)
        sys.path.append(folder)
        samplers = Samplers()
        compare_speed(samplers, rounds)
        compare_truth(samplers)


if __name__ == "__main__":
    main()

"""Ranking sources: our policies against those of modelexpress 0.7.0 and bare hashing, in one process.

    uv run python benchmarks/selection.py            # 10, 1,000 and 100,000 sources, about a minute
    uv run python benchmarks/selection.py --short    # 10 and 1,000 sources, seconds

An environment of its own holds modelexpress' wheel without its dependencies, and protobuf. Only its `__init__`, which imports
torch, is stood in for; its policies and messages are its own. All times are CPU microseconds of one call, the least of several.

- blake2b: hashing ready-made keys, which nobody can avoid the first time.
- theirs: `order` of the wheel's policy, given its own messages.
- cold: a selector that sees the sources for the first time.
- warm: the same sources again, each with a new load, as a puller that lists every few seconds sees them.
- plugged: warm, given the wheel's messages, as `compat.modelexpress` is called.

`order` ranks all; `top` gives the best three.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

SOURCE = Path(__file__).parents[1] / "packages" / "p2p-selection" / "src"
MODELEXPRESS = "0.7.0"
POLICIES = ("random", "rendezvous_hash", "load_aware", "topology_aware", "spread", "bounded_load")
HASHED = ("rendezvous_hash", "load_aware")
SIZES = (10, 1_000, 100_000)
AIMS = ("cold order", 2.0), ("warm order", 5.0), ("warm top", 5.0)


def microseconds(action: Callable[[], object], seconds: float) -> float:
    """Return the CPU time of one call, the least of several."""
    start = time.process_time()
    action()
    calls = max(1, int(0.02 / max(time.process_time() - start, 1e-6)))
    least, end = float("inf"), time.process_time() + seconds
    rounds = 0
    while rounds < 3 or time.process_time() < end:
        start = time.process_time()
        for _ in range(calls):
            action()
        least = min(least, (time.process_time() - start) / calls)
        rounds += 1
    return least * 1e6


def in_turn(lists: Sequence[Any], use: Callable[[Any], object]) -> Callable[[], object]:
    """Return what calls `use` with another of the lists each time."""
    state = {"next": 0}

    def call() -> object:
        state["next"] = (state["next"] + 1) % len(lists)
        return use(lists[state["next"]])

    return call


class Bench:
    """Both libraries, side by side; made where modelexpress is installed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        metadata = import_module("importlib.metadata")
        package = ModuleType("modelexpress")
        package.__path__ = [str(metadata.distribution("modelexpress").locate_file("modelexpress"))]
        sys.modules["modelexpress"] = package
        self.theirs, self.messages = (
            import_module("modelexpress.source_selection"),
            import_module("modelexpress.p2p_pb2"),
        )
        sys.path.insert(0, str(SOURCE))
        self.ours, self.plugged = import_module("p2p_selection"), import_module("p2p_selection.compat.modelexpress")
        self.context = SimpleNamespace(identity=SimpleNamespace(model_name="m"), worker_id="t", worker_rank=0)
        self.target = self.ours.Target("m", "t", 0)
        versions = {name: metadata.version(name) for name in ("modelexpress", "protobuf")}
        print(f"modelexpress {versions['modelexpress']} from {self.theirs.__file__}, protobuf {versions['protobuf']}")

    def sources(self, size: int) -> tuple[list[Any], list[Any], list[bytes]]:
        """Return the same sources twice with other loads, as their messages and as our candidates, and their keys."""
        rng = Random(size)
        ids = [(f"{rng.getrandbits(64):016x}", f"{rng.getrandbits(32):08x}") for _ in range(size)]
        loads = [[rng.random() for _ in ids] for _ in range(2)]
        rows = [[(*pair, load) for pair, load in zip(ids, row, strict=True)] for row in loads]
        message = self.messages.SourceInstanceRef
        refs = [[message(mx_source_id=a, worker_id=b, source_load=load) for a, b, load in row] for row in rows]
        candidates = [[self.ours.Candidate(a, b, 0, load) for a, b, load in row] for row in rows]
        return refs, candidates, [f"m|t|0|{a}|{b}|0".encode() for a, b in ids]

    def floor(self, keys: list[bytes]) -> float:
        """Return the time that hashing alone takes."""
        return microseconds(lambda: [blake2b(key, digest_size=8).digest() for key in keys], self.seconds)

    def their_order(self, policy: str, refs: list[Any]) -> float | None:
        """Return the time of their policy, or None where they haven't got it."""
        peer = self.theirs.SELECTORS.get(policy)
        return peer and microseconds(in_turn(refs, lambda each: peer().order(each, self.context)), self.seconds)

    def our_times(self, policy: str, refs: list[Any], lists: list[Any]) -> list[float]:
        """Return the times of `order` cold, warm and plugged, and of `top` cold and warm."""
        ours, target, config = self.ours, self.target, self.ours.SelectionConfig()
        kept = ours.get_selector(policy, config)
        adapter = self.plugged.PluggedSelector(ours.get_selector(policy, config), config)
        return [
            microseconds(action, self.seconds)
            for action in (
                in_turn(lists, lambda sources: ours.get_selector(policy, config).order(sources, target)),
                in_turn(lists, lambda sources: kept.order(sources, target)),
                in_turn(refs, lambda each: adapter.order(each, self.context)),
                in_turn(lists, lambda sources: ours.get_selector(policy, config).top(sources, target, 3)),
                in_turn(lists, lambda sources: kept.top(sources, target, 3)),
            )
        ]


def measure(sizes: Sequence[int], seconds: float) -> None:
    """Print the table, and how far the aims are reached."""
    bench = Bench(seconds)
    print(f"{'':<24}{'theirs':>10}  {'ours: order':<30}{'ours: top 3':<20}{'theirs / ours':>14}")
    print(f"{'sources  CPU us a call':<24}{'order':>10}", end="")
    print("".join(f"{title:>10}" for title in ("cold", "warm", "plugged", "cold", "warm")), end="")
    print("".join(f"{title:>8}" for title in ("cold", "warm", "plugged", "top")))
    reached: dict[str, list[float]] = {aim: [] for aim, _ in AIMS}
    floors = []
    for size in sizes:
        refs, lists, keys = bench.sources(size)
        floor = bench.floor(keys)
        print(f"{size:>7}  {'blake2b':<15}{floor:>10.0f}")
        for policy in POLICIES:
            theirs, times = bench.their_order(policy, refs), bench.our_times(policy, refs, lists)
            cold, warm, inside, top_cold, top_warm = times
            ratios = [] if theirs is None else [theirs / cold, theirs / warm, theirs / inside, theirs / top_warm]
            print(f"{size:>7}  {policy:<15}{'-' if theirs is None else f'{theirs:.0f}':>10}", end="")
            print("".join(f"{time:>10.0f}" for time in times) + "".join(f"{ratio:>8.1f}" for ratio in ratios))
            if size >= SIZES[1] and policy in HASHED:
                for aim, ratio in zip(reached, (ratios[0], ratios[1], ratios[3]), strict=True):
                    reached[aim].append(ratio)
                floors.append(top_cold / floor)
    for aim, least in AIMS:
        print(f"{aim}: {min(reached[aim]):.1f} to {max(reached[aim]):.1f} times theirs; the aim is at least {least:g}")
    print(f"cold top: {min(floors):.1f} to {max(floors):.1f} times blake2b; the aim is at most 2")


def main() -> None:
    """Make the environment and measure in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="leave 100,000 sources out")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        measure(SIZES[:2] if arguments.short else SIZES, 0.05 if arguments.short else 0.5)
        return
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", sys.executable, folder], check=True)
        requirements = [f"modelexpress=={MODELEXPRESS}", "protobuf>=6.33,<7"]
        subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", "--python", python, *requirements], check=True)
        subprocess.run([python, "-I", __file__, "--inside", *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()

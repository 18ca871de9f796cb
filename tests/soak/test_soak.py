"""A worker and a router, each a process of its own, for a very long time: neither grows, and neither leaves anything behind.

What counts is what a process holds after it has warmed up against what it holds at the end: resident memory, the C heap (where
gRPC leaks what no Python object shows), Python objects, tasks and descriptors. `docs/soak.md` has the last figures.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

PROGRAM = Path(__file__).with_name("soak_process.py")
STEPS = 10
RSS_KIB = 2_048
STREAM_TASKS = 3
"""Tasks of an open stream, on either side: ours that reads, ours that writes, and one of gRPC's."""
BASE_TASKS = {"worker": 4, "router": 1}
"""The worker's further ones: the program, gRPC's server with two, and at times the one that reads the source."""
HEAP_BYTES = 131_072
HEAP_BYTES_A_CYCLE = 32
OBJECTS = 100
BUSY_OBJECTS_A_STREAM = 10


class Process:
    """One end of the soak."""

    def __init__(self, part: str, *arguments: object) -> None:
        self.part = part
        self.held: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", PROGRAM, part, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},  # one heap, so that freed memory isn't kept in many
        )
        self.address = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, command: str) -> None:
        """Give a command and note what the process then holds."""
        self._say(command)
        self.held.append(self._answer())

    def close(self) -> list[str]:
        """End the process; return what it left behind or complained about."""
        self._say("close")
        left = self._answer()
        _, complaints = self._process.communicate()
        faults = [f"{self.part} left {count} {what}" for what, count in left.items() if count]
        faults += [f"{self.part}: {line}" for line in complaints.splitlines()]
        return faults + ([f"{self.part} ended with {self._process.returncode}"] if self._process.returncode else [])

    def _say(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        return json.loads(line)

    def growth(self, *, streams: int, cycles: int) -> list[str]:
        """Name everything of which the process holds more at the end than when it had warmed up."""
        warm, *later = self.held
        last = later[-1]
        objects = Counter(last["types"])
        objects.subtract(warm["types"])
        most = {
            "KiB of resident memory": (max(held["rss_kib"] for held in later) - warm["rss_kib"], RSS_KIB),
            "bytes of C heap": (
                last["heap_bytes"] - warm["heap_bytes"],
                HEAP_BYTES * (1 + streams // 10) + HEAP_BYTES_A_CYCLE * cycles,
            ),
            "descriptors": (max(held["descriptors"] for held in later) - warm["descriptors"], 0),
            "tasks": (last["tasks"] - BASE_TASKS[self.part], STREAM_TASKS * streams),
            "objects": (objects.total(), OBJECTS + BUSY_OBJECTS_A_STREAM * streams),
        }
        faults = [
            f"{self.part}: {more} {what} more, {allowed} allowed"
            for what, (more, allowed) in most.items()
            if more > allowed
        ]
        if faults:
            faults.append(f"{self.part}: most grown are {objects.most_common(8)}")
        return faults

    def figures(self) -> str:
        """Tell what the process held when it had warmed up and at the end."""
        warm, end = self.held[0], self.held[-1]
        return (
            f"{self.part}: resident {warm['rss_kib']} to {end['rss_kib']} KiB "
            f"(most {max(held['rss_kib'] for held in self.held)}), "
            f"C heap {warm['heap_bytes']} to {end['heap_bytes']} bytes, "
            f"objects {sum(warm['types'].values())} to {sum(end['types'].values())}, "
            f"tasks {warm['tasks']} to {end['tasks']}, descriptors {warm['descriptors']} to {end['descriptors']}, "
            f"{end['cpu_seconds']:.0f} s of CPU"
        )


def soak(
    *,
    streams: int,
    reports: int = 0,
    cycles: int = 0,
    speed: int = 1,
    interval_ms: int = 10,
    window: int = 1,
    plant: str = "",
) -> list[str]:
    """Run one soak, print its figures, and return everything that was wrong: growth, losses, leftovers, complaints."""
    planted = ["--plant", plant] if plant else []
    options = ["--speed", speed, *planted]
    started = time.monotonic()
    with (
        Process("worker", *options) as worker,
        Process(
            "router",
            "--address",
            worker.address,
            "--streams",
            streams,
            "--interval",
            interval_ms,
            "--window",
            window,
            *options,
        ) as router,
    ):
        for step in range(1, STEPS + 1):
            router.ask(f"reports {reports * step // STEPS}" if reports else f"cycles {cycles // STEPS}")
            worker.ask("holds")
        last = router.held[-1]
        faults = [f"router: {last[what]} {what}" for what in ("reconnects", "dropped") if last[what]]
        for process in (worker, router):
            faults += process.growth(streams=streams, cycles=cycles)
        faults += [*router.close(), *worker.close()]
    took = time.monotonic() - started
    sys.stdout.write(f"\n{streams} streams, {last['reports']} reports, {cycles} cycles: {took:.0f} s\n")
    for process in (worker, router):
        sys.stdout.write(f"  {process.figures()}\n")
    return faults


def test_memory_is_flat_over_thousands_of_reports_and_nothing_is_left() -> None:
    assert soak(streams=1, reports=4_000, speed=100, window=2) == []


def test_memory_is_flat_over_hundreds_of_streams_in_turn_and_nothing_is_left() -> None:
    assert soak(streams=0, cycles=400) == []


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_memory_is_flat_over_a_million_reports_on_one_stream() -> None:
    assert soak(streams=1, reports=1_000_000, speed=100, window=2) == []


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_memory_is_flat_over_a_hundred_thousand_reports_on_500_streams() -> None:
    assert soak(streams=500, reports=100_000, speed=4, interval_ms=1_000) == []


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_memory_is_flat_over_ten_thousand_streams_in_turn() -> None:
    assert soak(streams=0, cycles=10_000) == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_router_that_cancels_its_reads_is_caught() -> None:
    faults = soak(streams=0, cycles=400, plant="cancelled-read-router")
    assert any("router left" in fault and "descriptors" in fault for fault in faults), faults


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_worker_that_cancels_its_reads_is_caught() -> None:
    faults = soak(streams=0, cycles=3_000, plant="cancelled-read-worker")
    assert any("worker" in fault and "bytes of C heap" in fault for fault in faults), faults


@pytest.mark.long
@pytest.mark.timeout(600)
def test_an_interceptor_on_a_long_stream_is_caught() -> None:
    faults = soak(streams=1, reports=4_000, speed=100, window=2, plant="interceptor")
    assert any("router" in fault and "tasks more" in fault for fault in faults), faults

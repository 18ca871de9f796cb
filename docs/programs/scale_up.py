"""Scales up under load, before your eyes: who pulls from whom, by three policies, with every part a process.

    uv run python docs/programs/scale_up.py                              # about a minute, 64 pullers, one registry in memory
    uv run python docs/programs/scale_up.py --svg scale-up.svg           # and a plot
    uv run python docs/programs/scale_up.py --pullers 16 --policies spread
    uv run python docs/programs/scale_up.py --backend redis://127.0.0.1:6379 --replicas 2

Eight prefill engines have 99.7 % of their KV cache in use, four decode engines none, and all have the weights. Half of the pullers
start; then there are eight decode engines, and the other half starts. Exits with 1 when a policy that looks at loads broke a bound.
On a terminal the table is drawn anew as pulls begin and end, elsewhere once a wave. docs/p2p-system.md explains what is seen.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from p2p_bounds import Wave
from p2p_fleet import Fleet, Report

KV_USAGE = 0.997
PREFILL = [f"prefill-{place}" for place in range(8)]
DECODE = [f"decode-{place}" for place in range(8)]
POLICIES = ("rendezvous_hash", "load_aware", "spread")
DRAW_SECONDS = 0.25
PULL_SECONDS = 3.0
PULL_SHARE = 1 / 256
"""What one pull takes of a source's NIC."""
COLOURS = {"prefill": "#c2410c", "decode": "#0f766e"}


@dataclass
class Outcome:
    """What became of one wave.

    Attributes:
        policy: Who ordered.
        title: Which wave it was.
        pulls: Pulls by source.
        busy: Pulls from busy sources, and how many there may be.
        one: Pulls from the most pulled-from idle source, and how many there may be.
        seconds: From the start to the end of the last pull.
    """

    policy: str
    title: str
    pulls: dict[str, int]
    busy: tuple[int, int]
    one: tuple[int, int]
    seconds: float

    @property
    def within(self) -> bool:
        """Whether no bound was broken."""
        return self.busy[0] <= self.busy[1] and self.one[0] <= self.one[1]


@dataclass
class Table:
    """The sources as a replica lists them, and the pulls that they serve; drawn over itself on a terminal."""

    live: bool
    _height: int = field(default=0, init=False)

    async def draw(self, fleet: Fleet, title: str) -> None:
        """Draw it."""
        listed = await fleet.listed()
        served = await fleet.all_sources("await_pulls", count=0)
        lines = [title, f"{'SOURCE':<12}{'LOAD':>6}{'NOW':>6}{'MOST':>6}{'DONE':>6}"]
        for name in (*PREFILL, *DECODE):
            if name in listed:
                load, counts = listed[name].source_load, served[name]
                shown = "-" if load is None else f"{load:.3f}"
                bar = "#" * len(counts["done"]) + ">" * counts["now"]
                numbers = f"{counts['now']:>6}{counts['most']:>6}{len(counts['done']):>6}"
                lines.append(f"{name:<12}{shown:>6}{numbers}  {bar}".rstrip())
        if self.live and self._height:
            sys.stdout.write(f"\x1b[{self._height}A\x1b[J")
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        self._height = len(lines)

    def keep(self) -> None:
        """Leave what is drawn, and go on below it."""
        self._height = 0
        print()


async def wait_for_loads(fleet: Fleet, idle: Sequence[str]) -> None:
    """Wait until every replica lists the prefill sources as busy, and these as idle, and nobody else."""
    await fleet.until_listed(
        "the loads",
        lambda listed: (
            listed.keys() == {*PREFILL, *idle}
            and all((listed[name].source_load or 0) > KV_USAGE - 1e-6 for name in PREFILL)
            and all(listed[name].source_load == 0.0 for name in idle)
        ),
    )


async def run_wave(fleet: Fleet, table: Table, policy: str, title: str, idle: Sequence[str], first: int) -> Outcome:
    """Let every second puller, from the `first` on, start at once, and return what became of it."""
    await wait_for_loads(fleet, idle)
    await fleet.all_sources("counts")
    pullers = fleet.pullers[first::2]
    # Half as much again: a short measurement may hold one piece of a pull more than the pull's rate has.
    wave = Wave(
        pullers=len(pullers),
        idle=len(idle),
        busy=len(PREFILL),
        busy_load=KV_USAGE - 1e-6,
        swing=1.5 * PULL_SHARE * len(pullers),
    )
    started = time.monotonic()
    pulling = asyncio.create_task(fleet.all_pullers("pull", pullers, policy=policy))
    while table.live and not pulling.done():
        await table.draw(fleet, f"{policy}: {title}")
        await asyncio.wait({pulling}, timeout=DRAW_SECONDS)
    reports: list[Report] = await pulling
    seconds = time.monotonic() - started
    await table.draw(fleet, f"{policy}: {title}")
    table.keep()
    sources = [str(report["source"]) for report in reports]
    pulls = {name: sources.count(name) for name in (*PREFILL, *idle)}
    busy = sum(pulls[name] for name in PREFILL), wave.most_from_busy(policy)
    one = max(pulls[name] for name in idle), wave.most_from_one(policy)
    return Outcome(policy, title, pulls, busy, one, seconds)


def plot(outcomes: Sequence[Outcome]) -> str:
    """Return an SVG picture: a panel for each wave, a bar for each source, and a line at what every source would get by chance."""
    width, height, gap, left = 320, 150, 46, 40
    rows = list(dict.fromkeys(outcome.policy for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.title for outcome in outcomes))
    top = max(count for outcome in outcomes for count in outcome.pulls.values())
    total_width = left + len(columns) * (width + gap)
    total_height = len(rows) * (height + gap) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width} {total_height}">',
        '<g font-family="sans-serif" font-size="12" role="img" aria-label="Pulls by source, for each policy and wave">',
        f'<rect width="{total_width}" height="{total_height}" fill="#ffffff"/>',
    ]
    for outcome in outcomes:
        x = left + columns.index(outcome.title) * (width + gap)
        y = 30 + rows.index(outcome.policy) * (height + gap)
        base, step = y + height, width / len(outcome.pulls)
        title = escape(f"{outcome.policy}, {outcome.title}: {outcome.busy[0]} from busy ones")
        parts.append(f'<text x="{x}" y="{y - 8}" fill="#111111">{title}</text>')
        for place, (name, count) in enumerate(outcome.pulls.items()):
            bar, at = height * count / top, x + place * step
            colour = COLOURS[name.partition("-")[0]]
            parts.append(
                f'<rect x="{at + 1:.1f}" y="{base - bar:.1f}" width="{step - 2:.1f}" height="{bar:.1f}" fill="{colour}">'
                f"<title>{name}: {count}</title></rect>"
            )
        chance = base - height * sum(outcome.pulls.values()) / len(outcome.pulls) / top
        parts += [
            f'<line x1="{x}" x2="{x + width}" y1="{base}" y2="{base}" stroke="#111111"/>',
            f'<line x1="{x}" x2="{x + width}" y1="{chance:.1f}" y2="{chance:.1f}" stroke="#111111" stroke-dasharray="4 3"/>',
            f'<text x="{x - 6}" y="{y + 10}" text-anchor="end" fill="#111111">{top}</text>',
            f'<text x="{x - 6}" y="{base}" text-anchor="end" fill="#111111">0</text>',
        ]
    legend = total_height - 12
    for place, (role, text) in enumerate((("prefill", "busy (prefill)"), ("decode", "idle (decode)"))):
        x = left + place * 130
        parts.append(f'<rect x="{x}" y="{legend - 10}" width="12" height="12" fill="{COLOURS[role]}"/>')
        parts.append(f'<text x="{x + 18}" y="{legend}" fill="#111111">{text}</text>')
    parts.append(f'<text x="{left + 260}" y="{legend}" fill="#111111">- - an even share</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


async def scale_up(options: argparse.Namespace) -> int:
    """Start the fleet, run every wave, and print what became of them."""
    table = Table(live=sys.stdout.isatty())
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="scale-up-") as folder:
        started = time.monotonic()
        async with Fleet.running(
            Path(folder), backend=options.backend, replicas=options.replicas, pullers=options.pullers
        ) as fleet:
            pulls: dict[str, Any] = {"pull_seconds": PULL_SECONDS, "pull_share": PULL_SHARE}
            await fleet.start_sources(PREFILL, usage=KV_USAGE, **pulls)
            await fleet.start_sources(DECODE, **pulls)
            print(f"{len(fleet.pids)} processes started in {time.monotonic() - started:.0f} s\n")
            for policy in options.policies:
                await fleet.all_sources("hide", DECODE[4:])
                outcomes.append(await run_wave(fleet, table, policy, "4 decode engines", DECODE[:4], 0))
                await fleet.all_sources("publish", DECODE[4:])
                outcomes.append(await run_wave(fleet, table, policy, "8 decode engines", DECODE, 1))
    print(f"{'POLICY':<17}{'WAVE':<18}{'FROM BUSY':>10}{'BOUND':>7}{'MOST FROM ONE':>15}{'BOUND':>7}{'SECONDS':>9}")
    for o in outcomes:
        print(f"{o.policy:<17}{o.title:<18}{o.busy[0]:>10}{o.busy[1]:>7}{o.one[0]:>15}{o.one[1]:>7}{o.seconds:>9.1f}")
    if options.svg is not None:
        options.svg.write_text(plot(outcomes))
    return int(not all(outcome.within for outcome in outcomes))


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="a scale-up under load, with every part a process")
    parser.add_argument("--pullers", type=int, default=64, help="how many, half of them in each wave")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES, help="one after the other")
    parser.add_argument("--backend", default="memory", help="the registry's store; memory is of one replica")
    parser.add_argument("--replicas", type=int, default=1, help="of the registry")
    parser.add_argument("--svg", type=Path, help="where a plot is written")
    raise SystemExit(asyncio.run(scale_up(parser.parse_args())))


if __name__ == "__main__":
    main()

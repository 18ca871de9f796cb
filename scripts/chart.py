"""A chart as SVG: lines over named places, the values on a logarithmic axis. Pure: numbers in, text out."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

COLOURS = ("#8a8a8a", "#1f77b4", "#d62728", "#ff9f1c", "#2a9d3a")
"""One for each line, in order."""

_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 40, 420, 240


def chart(title: str, across: str, places: Sequence[str], lines: Mapping[str, Sequence[float]]) -> str:
    """Return a chart 640 wide and 330 high.

    Args:
        title: What the values are, with their unit.
        across: What the places are.
        places: The names along the axis; they stand at equal distances.
        lines: By name, a positive value for each place; at most as many lines as there are colours.
    """
    values = [value for line in lines.values() for value in line]
    lowest = floor(log10(min(values)))
    decades = max(1, ceil(log10(max(values))) - lowest)

    def x(place: int) -> float:
        return _LEFT + _WIDTH * place / (len(places) - 1)

    def y(decade: float) -> float:
        return _TOP + _HEIGHT * (1 - (decade - lowest) / decades)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" font-family="sans-serif" font-size="12">',
        '<rect width="640" height="330" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-size="14">{title}</text>',
    ]
    for decade in range(lowest, lowest + decades + 1):
        parts.append(f'<path d="M{_LEFT} {y(decade):.1f}h{_WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(decade) + 4:.1f}" text-anchor="end">{_power(decade)}</text>')
    for place, name in enumerate(places):
        parts.append(f'<text x="{x(place):.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{name}</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">{across}</text>')
    for row, ((name, line), colour) in enumerate(zip(lines.items(), COLOURS, strict=False)):
        points = " ".join(f"{x(place):.1f},{y(log10(value)):.1f}" for place, value in enumerate(line))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<rect x="500" y="{_TOP + 22 * row}" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="520" y="{_TOP + 6 + 22 * row}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _power(decade: int) -> str:
    return f"{10**decade:,}" if decade >= 0 else f"{10.0**decade:.{-decade}f}"

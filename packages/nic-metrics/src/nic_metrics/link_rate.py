"""The `rate` file of an InfiniBand or RoCE port, as the kernel and vendors' drivers print it.

Linux prints "400 Gb/sec (4X NDR)": the sum over the lanes, then width and speed of the lanes. Older kernels leave out the word
for the speed where it is SDR, some drivers the brackets; "Gb/s", "Mb/sec" and other letter cases are seen as well. Only the
number in front is capacity, and it is the same in both directions.
"""

import re
from dataclasses import dataclass

from nic_metrics.errors import LinkRateError, LinkRateProblem

# At most nine digits, so that the arithmetic is exact and no text can make it slow.
_RATE = re.compile(
    r"""
    (?P<whole> [0-9]{1,9} ) (?: \. (?P<fraction> [0-9]{1,9} ) )?
    \s* (?P<prefix> [GgMm] ) (?P<unit> [bB] ) / (?i: s | sec )
    \s* (?: \( (?P<link> [^()]* ) \) )?
    """,
    re.ASCII | re.VERBOSE,
)
_LINK = re.compile(r"\s*(?P<lanes>[0-9]{1,3})[Xx](?:\s+(?P<speed>\S+))?\s*", re.ASCII)
_BITS = {"G": 1_000_000_000, "M": 1_000_000}


@dataclass(frozen=True, slots=True)
class LinkRate:
    """The rate of a port in one direction, as its driver states it.

    It is the signalling rate that vendors quote (NDR: 100 Gb/s a lane); what arrives as data is a little less. A port that is
    down states a rate too, often that of SDR.

    Attributes:
        bits_per_second: Capacity of each direction; above 0. "Gb" is 10**9.
        lanes: Width of the link (4 for "4X"), or None when the text doesn't say.
        speed: The driver's word for the speed of a lane, such as `NDR`, or None when the text doesn't say.
    """

    bits_per_second: int
    lanes: int | None = None
    speed: str | None = None

    @property
    def bytes_per_second(self) -> float:
        """Capacity of each direction in bytes per second."""
        return self.bits_per_second / 8


def parse_link_rate(text: str) -> LinkRate:
    """Read the text of `/sys/class/infiniband/<device>/ports/<port>/rate`.

    White space at either end is ignored, so it makes no difference whether the text ends in none, one or more newlines. A
    fraction of a bit is rounded down. Brackets that hold something else than a width leave `lanes` and `speed` None.

    Args:
        text: What the file holds.

    Raises:
        LinkRateError: The text names no capacity; its `problem` says why.
    """
    stripped = text.strip()
    if not stripped:
        raise LinkRateError(text, LinkRateProblem.EMPTY)
    match = _RATE.fullmatch(stripped)
    if match is None:
        raise LinkRateError(text, LinkRateProblem.FORMAT)
    whole, fraction = match["whole"], match["fraction"] or ""
    bits_per_second = int(whole + fraction) * _BITS[match["prefix"].upper()] // 10 ** len(fraction)
    if not bits_per_second:
        raise LinkRateError(text, LinkRateProblem.ZERO)
    if match["unit"] == "B":
        raise LinkRateError(text, LinkRateProblem.BYTES)
    link = _LINK.fullmatch(match["link"] or "")
    return LinkRate(bits_per_second, int(link["lanes"]), link["speed"]) if link else LinkRate(bits_per_second)

"""How the commands print what a sampler told of ports: a line a port and round, or a table for a terminal."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from nic_metrics.cli._output import number, print_json
from nic_metrics.cli._topology import numbers
from nic_metrics.ports import Port, PortId
from nic_metrics.utilization import UnknownReason, Utilization

Uses = Mapping[PortId, Utilization]

_TITLES = ("TIME", "DEVICE", "PORT", "UTIL", "TX Gb/s", "RX Gb/s", "LINK Gb/s", "REASON", "SOURCE")
_REASON_WIDTH = max(map(len, UnknownReason))
_BAR_WIDTH = 9
_BITS_PER_GIGABYTE = 8 / 1e9


def print_uses_json(schema: str, unix_seconds: float, uses: Uses) -> None:
    """Print one object for each port."""
    for port, use in uses.items():
        fields = {
            "time": _timestamp(unix_seconds),
            "device": port.device,
            "port": port.port,
            "utilization": use.value,
            "reason": use.reason,
            "missing": use.missing,
            "tx_bytes_per_second": use.tx_bytes_per_second,
            "rx_bytes_per_second": use.rx_bytes_per_second,
            "link_bytes_per_second": use.link_bytes_per_second,
            "source": use.source,
        }
        print_json(schema, fields)
    sys.stdout.flush()


class UseLines:
    """Columns of fixed width, a line for each port and round, below titles."""

    def __init__(self, ports: Iterable[PortId]) -> None:
        """Make the columns wide enough for these ports."""
        device = max([len("DEVICE"), *(len(port.device) for port in ports)])
        self._format = (
            f"{{:<24}}  {{:<{device}}}  {{:>4}}  {{:>5}}  {{:>8}}  {{:>8}}  {{:>9}}  {{:<{_REASON_WIDTH}}}  {{}}"
        )
        self._titled = False

    def print(self, unix_seconds: float, uses: Uses) -> None:
        """Print a round."""
        lines = [] if self._titled else [self._format.format(*_TITLES)]
        self._titled = True
        for port, use in uses.items():
            rates = (use.tx_bytes_per_second, use.rx_bytes_per_second, use.link_bytes_per_second)
            cells = [number(None if rate is None else rate * _BITS_PER_GIGABYTE, 1) for rate in rates]
            shown = (port.device, port.port, number(use.value, 2), *cells, _reason(use) or "-", use.source or "-")
            lines.append(self._format.format(_timestamp(unix_seconds), *shown))
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()


TABLE_TITLES = ("DEVICE", "PORT", "LINK", "STATE", "TX Gb/s", "RX Gb/s", "UTIL", "GPU", "SOURCE", "REASON")


def table_rows(
    uses: Uses, ports: Mapping[PortId, Port], gpus: Mapping[str, tuple[int, ...]]
) -> Sequence[tuple[str, ...]]:
    """Return a row for each port, with bars for what it sends and receives.

    Args:
        uses: What a sampler told.
        ports: What the same ports say of themselves.
        gpus: Numbers of the GPUs that a device is nearest to, where that was looked at.
    """
    rows = []
    for port, use in uses.items():
        said = ports[port]
        rate = said.rate
        link = "-" if rate is None else f"{rate.bits_per_second / 1e9:g} {rate.speed or ''}".rstrip()
        rows.append(
            (
                port.device,
                str(port.port),
                link,
                "-" if said.state is None else said.state.word,
                _barred(use.tx_bytes_per_second, use.link_bytes_per_second),
                _barred(use.rx_bytes_per_second, use.link_bytes_per_second),
                number(use.value, 2),
                numbers(gpus.get(port.device, ())),
                use.source or "-",
                _reason(use) or "",
            )
        )
    return rows


def _barred(rate: float | None, link: float | None) -> str:
    if rate is None:
        return "-"
    text = f"{rate * _BITS_PER_GIGABYTE:6.1f}"
    if link is None:
        return text
    full, eighths = divmod(round(min(1.0, rate / link) * _BAR_WIDTH * 8), 8)
    bar = "█" * full + ("▏▎▍▌▋▊▉"[eighths - 1] if eighths else "")
    return f"{bar:·<{_BAR_WIDTH}} {text}"


def _reason(use: Utilization) -> str | None:
    # With one direction alone the use is a lower bound, and must not be taken for the whole.
    return use.reason if use.missing is None else use.reason or f"no {use.missing} counter"


def _timestamp(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

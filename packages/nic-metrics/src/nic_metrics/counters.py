"""Which files hold the bytes that a port sent and received, and what they say.

A file's name says what it counts; the device's name says nothing. `port_xmit_data` and its kin count words of four octets
whatever the width of the link (IBTA's PortCounters), the totals under `hw_counters` count bytes.
"""

from dataclasses import dataclass
from typing import NamedTuple

_BYTES_PER_WORD = 4
_HW = "hw_counters/"
_LARGEST = 2**64 - 1


@dataclass(frozen=True, slots=True)
class ByteSource:
    """Files, or statistics that no file shows, that together give the bytes of both directions.

    Attributes:
        name: What to call it, in outputs too: its directory, and the family of names within where there are several.
        tx_files: Files of the sending direction, relative to the port's directory, or names of statistics; they add up.
        rx_files: Files of the receiving direction; they add up.
        bytes_per_count: Bytes that one count stands for: 4 for words, 1 for bytes.
        may_be_32_bit: Whether the register may have 32 bits only: without the extended width of IBTA it stops at 2**32 - 1,
            and some devices start over.
    """

    name: str
    tx_files: tuple[str, ...]
    rx_files: tuple[str, ...]
    bytes_per_count: int = 1
    may_be_32_bit: bool = False

    @property
    def cached(self) -> bool:
        """Whether the kernel keeps values of these files for `hw_counters/lifespan` milliseconds."""
        return self.tx_files[0].startswith(_HW)


BYTE_SOURCES = (
    ByteSource(
        "counters_ext", ("counters_ext/port_xmit_data_64",), ("counters_ext/port_rcv_data_64",), _BYTES_PER_WORD
    ),
    ByteSource(
        "counters", ("counters/port_xmit_data",), ("counters/port_rcv_data",), _BYTES_PER_WORD, may_be_32_bit=True
    ),
    # mlx5, where its optional counters are shown as files.
    ByteSource("hw_counters/rdma_bytes", ("hw_counters/rdma_tx_bytes",), ("hw_counters/rdma_rx_bytes",)),
    # EFA and bnxt_re.
    ByteSource("hw_counters/bytes", ("hw_counters/tx_bytes",), ("hw_counters/rx_bytes",)),
    # ionic counts unicast and multicast apart.
    ByteSource(
        "hw_counters/rdma_cast_bytes",
        ("hw_counters/tx_rdma_ucast_bytes", "hw_counters/tx_rdma_mcast_bytes"),
        ("hw_counters/rx_rdma_ucast_bytes", "hw_counters/rx_rdma_mcast_bytes"),
    ),
    # erdma.
    ByteSource("hw_counters/bytes_cnt", ("hw_counters/hw_tx_bytes_cnt",), ("hw_counters/hw_rx_bytes_cnt",)),
    # irdma counts IPv4 and IPv6 apart.
    ByteSource(
        "hw_counters/ip_octets",
        ("hw_counters/ip4OutOctets", "hw_counters/ip6OutOctets"),
        ("hw_counters/ip4InOctets", "hw_counters/ip6InOctets"),
    ),
)
"""Every source of files that is known, the preferred first."""

NETLINK_SOURCES = tuple(
    ByteSource(
        source.name.replace(_HW, "netlink/"),
        tuple(name.removeprefix(_HW) for name in source.tx_files),
        tuple(name.removeprefix(_HW) for name in source.rx_files),
    )
    for source in BYTE_SOURCES
    if source.cached
)
"""The same totals as statistics over netlink, where a driver's `hw_counters` aren't shown as files; never cached."""


class CounterSet(NamedTuple):
    """The counters of a port at one moment.

    Attributes:
        source: The files they were read from.
        tx: Values of `source.tx_files`, each 0 to 2**64 - 1; None when one of them can't be read.
        rx: Values of `source.rx_files`; None when one of them can't be read.
        generation: Grows when a file is opened anew, and changes when another device takes over the name; a difference between two
            values means nothing across generations.
    """

    source: ByteSource
    tx: tuple[int, ...] | None
    rx: tuple[int, ...] | None
    generation: int = 0


def count(data: bytes | None) -> int | None:
    """Read the text of a counter: 0 to 2**64 - 1, or None when it's no count."""
    # "N/A (no PMA)", nothing at all and signs are no counts. No more is read of a file than what converts at once.
    if data is None or not (digits := data.strip()).isdigit():
        return None
    value = int(digits)
    return value if value <= _LARGEST else None

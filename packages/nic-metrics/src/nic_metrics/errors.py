"""The errors of nic_metrics.

NicMetricsError
├── LinkRateError    a port's `rate` names no capacity: the capacity is unknown
└── PortIdError      no port can have this name or number
"""

from enum import StrEnum


class NicMetricsError(Exception):
    """Base of every error that nic_metrics raises.

    What to do: read the message, which names what was received and what is allowed.
    """


class LinkRateProblem(StrEnum):
    """Why a port's `rate` names no capacity."""

    EMPTY = "empty"
    """Nothing but white space: the driver wrote nothing."""

    ZERO = "zero"
    """A rate of 0, in whatever unit: an empty slot, or a link that negotiated nothing."""

    BYTES = "bytes"
    """A rate in bytes ("50 GB/sec"): no driver means that, and guessing would be wrong by a factor of 8."""

    FORMAT = "format"
    """Anything else: no number, a sign, an exponent, no unit or another one."""


class LinkRateError(NicMetricsError, ValueError):
    """A port's `rate` names no capacity; the port may be fine, but its utilisation can't be known.

    What to do: count the link's capacity as unknown.

    Attributes:
        text: The text that was read.
        problem: Why it names no capacity.
    """

    def __init__(self, text: str, problem: LinkRateProblem) -> None:
        """Give the text that was read and what is wrong with it."""
        super().__init__(text, problem)
        self.text = text
        self.problem = problem

    def __str__(self) -> str:
        """Say what was read and what is readable, in one line."""
        read = self.text if len(self.text) <= _SHOWN else self.text[:_SHOWN] + "…"
        return (
            f"link rate {read!r} names no capacity ({self.problem}): "
            "readable is a number above 0 in Gb/sec or Mb/sec, such as '400 Gb/sec (4X NDR)'"
        )


class PortIdError(NicMetricsError, ValueError):
    """No port can have this device name or number.

    Attributes:
        device: The name that was given.
        port: The number that was given.
    """

    def __init__(self, device: str, port: int) -> None:
        """Give what was to be a port."""
        super().__init__(device, port)
        self.device = device
        self.port = port

    def __str__(self) -> str:
        """Say what was given and what is allowed, in one line."""
        return (
            f"device {self.device!r}, port {self.port!r} is no port: give the name of an entry of the class directory, "
            "such as 'mlx5_0', and a number of at least 1"
        )


# Enough for every text that a driver prints; a file that holds something else must not fill a log.
_SHOWN = 80

"""The errors of nic_metrics.

NicMetricsError
├── ExpositionError      a metrics text was cut off, or a line that was asked for can't be read
├── LinkRateError        a port's `rate` names no capacity: the capacity is unknown
├── MetricsUrlError      an address isn't that of a metrics text
├── MissingExtraError    an optional dependency isn't installed
├── NicChoiceError       a setting that is to name a NIC can't be read, or two of them contradict each other
├── PciAddressError      a text is no PCI address
├── PortIdError          no port can have this name or number
└── ScrapeError          an address gave no metrics text
"""

from enum import StrEnum


class NicMetricsError(Exception):
    """Base of every error that nic_metrics raises.

    What to do: read the message, which names what was received and what is allowed.
    """


class ExpositionProblem(StrEnum):
    """What is wrong with a metrics text."""

    CUT_OFF = "cut_off"
    """It says that it is OpenMetrics and doesn't end with `# EOF`."""

    BAD_LINE = "bad_line"
    """A line of a metric that was asked for doesn't follow the grammar."""


class ExpositionError(NicMetricsError, ValueError):
    """A metrics text can't be read: what it would have said is unknown.

    What to do: count what it would have said as unknown; `nic-metrics serving-load` shows where the text breaks.

    Attributes:
        problem: What is wrong with it.
        line_number: The line where it is wrong, from 1.
        line: What stands there.
    """

    def __init__(self, problem: ExpositionProblem, line_number: int, line: bytes) -> None:
        """Give what is wrong and where."""
        super().__init__(problem, line_number, line)
        self.problem = problem
        self.line_number = line_number
        self.line = line

    def __str__(self) -> str:
        """Say what was read and what is readable, in one line."""
        shown = self.line[:_SHOWN].decode("utf-8", "replace")
        if self.problem is ExpositionProblem.CUT_OFF:
            return f"the metrics text ends in line {self.line_number} with {shown!r}: OpenMetrics ends with '# EOF'"
        return (
            f"line {self.line_number} of the metrics text can't be read: {shown!r}: "
            "readable is a line such as 'vllm:kv_cache_usage_perc{engine=\"0\"} 0.5'"
        )


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


class MissingExtraError(NicMetricsError, ImportError):
    """An optional dependency isn't installed.

    What to do: install the extra that the message names.
    """

    def __init__(self, purpose: str, extra: str) -> None:
        """Give what it is needed for and the extra that brings it."""
        super().__init__(purpose, extra)
        self.purpose = purpose
        self.extra = extra

    def __str__(self) -> str:
        """Say what to install."""
        return f"{self.purpose} needs the extra [{self.extra}]: pip install 'nic-metrics[{self.extra}]'"


class NicChoiceError(NicMetricsError, ValueError):
    """What is to say which NIC transfers use can't be read, or says two things.

    What to do: mend the setting that the message names, or name the ports with `devices=`.
    """


class PciAddressError(NicMetricsError, ValueError):
    """A text is no PCI address.

    Attributes:
        text: The text that was given.
    """

    def __init__(self, text: str) -> None:
        """Give the text."""
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        """Say what was given and what is allowed, in one line."""
        return f"{self.text!r} is no PCI address: give one such as '0000:0f:00.0'"


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


class MetricsUrlError(NicMetricsError, ValueError):
    """An address isn't that of a metrics text.

    Attributes:
        url: The address that was given; with a user in it, "" in its place.
    """

    def __init__(self, url: str, fault: str) -> None:
        """Give the address and what is wrong with it."""
        super().__init__(url, fault)
        self.url = url
        self._fault = fault

    def __str__(self) -> str:
        """Say what was given and what is allowed, in one line."""
        return f"{self.url[:_SHOWN]!r} {self._fault}: give an address such as 'http://127.0.0.1:8000/metrics'"


class ScrapeProblem(StrEnum):
    """Why an address gave no metrics text."""

    UNREACHABLE = "unreachable"
    """Nobody listens there, the name isn't known, or the connection broke; an engine that is still loading, as a rule."""

    DEADLINE = "deadline"
    """The whole answer wasn't there in time: the server hangs, or drips."""

    BAD_STATUS = "bad_status"
    """Another status than 200; 503 while an engine is loading."""

    REDIRECTED = "redirected"
    """The server points elsewhere, which isn't followed: a load is asked of the engine itself."""

    NOT_METRICS = "not_metrics"
    """Something else than a metrics text, by its Content-Type or Content-Encoding."""

    TOO_LARGE = "too_large"
    """More bytes than the limit."""

    BROKEN_OFF = "broken_off"
    """The answer ended before, or after, the length that it stated, or in the middle of a line."""

    NOT_HTTP = "not_http"
    """No answer in HTTP/1."""


class ScrapeError(NicMetricsError):
    """An address gave no metrics text: what it would have said is unknown.

    What to do: count what it would have said as unknown, and ask again at the next turn.

    Attributes:
        problem: Why it gave none.
        url: The address.
    """

    def __init__(self, problem: ScrapeProblem, url: str, fault: str) -> None:
        """Give why there is no text, where it was asked for, and what happened in words."""
        super().__init__(problem, url, fault)
        self.problem = problem
        self.url = url
        self._fault = fault

    def __str__(self) -> str:
        """Say where and what, in one line."""
        return f"{self.url} {self._fault}"


# Enough for every text that a driver prints; a file that holds something else must not fill a log.
_SHOWN = 80

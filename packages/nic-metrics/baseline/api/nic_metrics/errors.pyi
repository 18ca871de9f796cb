from _typeshed import Incomplete
from enum import StrEnum

class NicMetricsError(Exception): ...

class ExpositionProblem(StrEnum):
    CUT_OFF = 'cut_off'
    BAD_LINE = 'bad_line'

class ExpositionError(NicMetricsError, ValueError):
    problem: Incomplete
    line_number: Incomplete
    line: Incomplete
    def __init__(self, problem: ExpositionProblem, line_number: int, line: bytes) -> None: ...

class LinkRateProblem(StrEnum):
    EMPTY = 'empty'
    ZERO = 'zero'
    BYTES = 'bytes'
    FORMAT = 'format'

class LinkRateError(NicMetricsError, ValueError):
    text: Incomplete
    problem: Incomplete
    def __init__(self, text: str, problem: LinkRateProblem) -> None: ...

class MissingExtraError(NicMetricsError, ImportError):
    purpose: Incomplete
    extra: Incomplete
    def __init__(self, purpose: str, extra: str) -> None: ...

class NicChoiceError(NicMetricsError, ValueError): ...

class PciAddressError(NicMetricsError, ValueError):
    text: Incomplete
    def __init__(self, text: str) -> None: ...

class PortIdError(NicMetricsError, ValueError):
    device: Incomplete
    port: Incomplete
    def __init__(self, device: str, port: int) -> None: ...

class MetricsUrlError(NicMetricsError, ValueError):
    url: Incomplete
    def __init__(self, url: str, fault: str) -> None: ...

class ScrapeProblem(StrEnum):
    UNREACHABLE = 'unreachable'
    DEADLINE = 'deadline'
    BAD_STATUS = 'bad_status'
    REDIRECTED = 'redirected'
    NOT_METRICS = 'not_metrics'
    TOO_LARGE = 'too_large'
    BROKEN_OFF = 'broken_off'
    NOT_HTTP = 'not_http'

class ScrapeError(NicMetricsError):
    problem: Incomplete
    url: Incomplete
    def __init__(self, problem: ScrapeProblem, url: str, fault: str) -> None: ...

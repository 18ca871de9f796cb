"""Getting a metrics text over HTTP: within a deadline for the whole of it, up to a size, and from that address only.

No proxy that the environment names, no redirect, no scheme but http and https. Looking a host's name up is the one thing that the
deadline can't cut short; an address in numbers needs none.
"""

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nic_metrics._wire import TooLargeError, Wire
from nic_metrics.errors import MetricsUrlError, ScrapeError, ScrapeProblem

if TYPE_CHECKING:
    from http.client import HTTPResponse

_PORTS = {"http": 80, "https": 443}
_TYPES = frozenset({"", "text/plain", "application/openmetrics-text"})
_HEADERS = {"accept": "text/plain;version=0.0.4, */*;q=0.1", "connection": "close", "user-agent": "nic-metrics"}
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class MetricsText:
    """An answer.

    Attributes:
        body: The text, whole.
        content_type: What the server says it is; "" when it doesn't say.
    """

    body: bytes
    content_type: str


class MetricsUrl:
    """The address of a metrics text, checked.

    Attributes:
        url: The address as it was given.
    """

    url: str

    def __init__(self, url: str) -> None:
        """Check an address.

        Raises:
            MetricsUrlError: It isn't http(s)://HOST[:PORT][/PATH], or holds a user, which is not repeated in the message.
        """
        if not url:
            raise MetricsUrlError(url, "is empty")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise MetricsUrlError(url, "is no address") from None
        if "@" in parts.netloc:
            raise MetricsUrlError("", "holds a user or a password")
        if parts.scheme not in _PORTS or not parts.hostname or port == 0:
            raise MetricsUrlError(url, "is not an address of http or https")
        if not all("!" <= letter <= "~" for letter in url):
            raise MetricsUrlError(url, "holds a letter that must be written as %XX")
        if not all(0 < len(label) < 64 for label in parts.hostname.removesuffix(".").split(".")):
            raise MetricsUrlError(url, "names a host that can't be")
        self.url = url
        self._tls = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or _PORTS[parts.scheme]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def fetch(self, *, deadline_seconds: float = 1.0, max_bytes: int = 8 * 1024 * 1024) -> MetricsText:
        """Get the text.

        Args:
            deadline_seconds: For all of it: connecting, and the last byte.
            max_bytes: The longest answer that is taken, head and all.

        Raises:
            ScrapeError: There is none.
            ValueError: A limit isn't above 0.
        """
        if not (math.isfinite(deadline_seconds) and deadline_seconds > 0 and max_bytes > 0):
            raise ValueError(f"deadline_seconds={deadline_seconds!r} and max_bytes={max_bytes!r} must be above 0")
        from http.client import HTTPException  # noqa: PLC0415 - as long to import as the package; many only read NICs

        try:
            until = time.monotonic() + deadline_seconds
            wire = Wire.connect(self._host, self._port, tls=self._tls, until=until, most=max_bytes)
            try:
                return self._ask(wire)
            finally:
                wire.release()
        except TimeoutError:
            raise self._error(ScrapeProblem.DEADLINE, f"gave no whole answer within {deadline_seconds:g} s") from None
        except TooLargeError:
            raise self._error(ScrapeProblem.TOO_LARGE, f"gives more than {max_bytes} bytes") from None
        except OSError as error:
            raise self._error(ScrapeProblem.UNREACHABLE, f"can't be reached: {error.strerror or error}") from error
        except (HTTPException, ValueError) as error:
            raise self._error(ScrapeProblem.NOT_HTTP, f"doesn't speak HTTP/1: {str(error)[:120]!r}") from error

    def _ask(self, wire: Wire) -> MetricsText:
        from http.client import HTTPConnection, IncompleteRead  # noqa: PLC0415 - see fetch

        connection = HTTPConnection(self._host, self._port)
        connection.sock = wire
        connection.request("GET", self._target, headers=_HEADERS)
        with connection.getresponse() as response:
            self._check(response)
            try:
                body = self._body(response, wire)
            except IncompleteRead:
                raise self._error(ScrapeProblem.BROKEN_OFF, "broke its answer off") from None
            return MetricsText(body, response.headers.get("content-type", ""))

    def _check(self, response: "HTTPResponse") -> None:
        """Refuse what isn't a metrics text by its head."""
        if 300 <= response.status < 400:
            raise self._error(
                ScrapeProblem.REDIRECTED,
                f"redirects ({response.status}), which is not followed: give the engine's own address",
            )
        if response.status != 200:
            hint = ": a metrics text is mostly at /metrics" if response.status == 404 else ""
            raise self._error(ScrapeProblem.BAD_STATUS, f"answers with status {response.status}{hint}")
        kind = response.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() not in _TYPES:
            raise self._error(ScrapeProblem.NOT_METRICS, f"gives {kind[:60]!r}, which is no metrics text")
        coding = response.headers.get("content-encoding", "identity")
        if coding.strip().lower() != "identity":
            raise self._error(ScrapeProblem.NOT_METRICS, f"gives a text packed with {coding[:60]!r}, unasked")

    def _body(self, response: "HTTPResponse", wire: Wire) -> bytes:
        framed = response.length is not None or response.chunked
        body = b"".join(iter(lambda: response.read(_PIECE), b""))
        if response.length:
            raise self._error(ScrapeProblem.BROKEN_OFF, f"broke its answer off {response.length} bytes before its end")
        whole_line = body.endswith(b"\n")
        if body and not framed and not whole_line:
            raise self._error(ScrapeProblem.BROKEN_OFF, "broke its answer off in the middle of a line")
        # Waiting for what may come is worth while only where a number may have been cut.
        if body and framed and wire.has_more(wait=not whole_line):
            raise self._error(ScrapeProblem.BROKEN_OFF, "goes on after the length that it stated")
        return body

    def _error(self, problem: ScrapeProblem, fault: str) -> ScrapeError:
        return ScrapeError(problem, self.url, fault)

"""What a running SGLang engine tells of its load over HTTP."""

from collections.abc import Callable, Sequence
from typing import Final

from loadmonitor_worker.errors import ConfigError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._http_answer import HttpReason
from loadmonitor_worker.sources._http_get import HttpGet, authorization, checked_url, httpx_module
from loadmonitor_worker.sources._time import system_unix_ms
from loadmonitor_worker.sources._v1_loads import MOST_RANKS, parse_loads

_PATH: Final = "/v1/loads?include=core"
_ABSENT_FOR_MS: Final = 10_000
"""How long a server that doesn't have the route isn't asked again."""


class SglangHttpSource:
    """Asks an SGLang engine for `/v1/loads`, once a pull, over a connection that is kept.

    SGLang 0.5.23 stamps each rank when its scheduler takes the numbers, and that stamp is passed through: between two pulls
    without a new one a rank grows older, and an engine that hangs becomes stale. Earlier releases don't tell when the
    numbers were taken, so their ranks are stamped with the moment the answer arrived. For these a fresh report says that
    the HTTP server answers and nothing of the scheduler behind it, which may hang; `stamped_by_receipt` names them.
    `/get_load`, older still, isn't asked: it tells too little for a report.

    A stamp of the engine's is judged by this machine's clock: the two must agree to well within the reporter's staleness
    limit.

    Without `dp_size` the ranks are taken from the answer, up to the highest one in it; SGLang leaves out a rank that has
    not published yet, and only `dp_size` can tell when that is the last.

    Call `aclose` when done with it, in the event loop that used it.

    Args:
        engine_url: The engine's HTTP address, `http://HOST:PORT`; the environment's proxies are not used.
        api_key: Sent as a bearer token; None or "" sends none.
        dp_size: Number of ranks that the engine must tell, 1 to 65535, or None to take the engine's word.
        timeout_ms: For a whole pull, redirects and body included; above 0. The reporter gives a pull one second.
        max_body_bytes: Longest answer that is received; above 0. SGLang's takes about 600 bytes a rank.
        unix_ms: The clock that stamps ranks without a time of the engine's, in milliseconds since the Unix epoch.

    Raises:
        ConfigError: A setting is out of range. The key is never repeated in a message.
        MissingExtraError: httpx isn't installed.
    """

    def __init__(
        self,
        engine_url: str,
        *,
        api_key: str | None = None,
        dp_size: int | None = None,
        timeout_ms: int = 800,
        max_body_bytes: int = 4 * 1024 * 1024,
        unix_ms: Callable[[], int] = system_unix_ms,
    ) -> None:
        if dp_size is not None and not (type(dp_size) is int and 1 <= dp_size <= MOST_RANKS):
            raise ConfigError(f"dp_size={dp_size!r} is not allowed: 1 to {MOST_RANKS} is, or None to take the engine's")
        httpx = httpx_module(type(self).__name__, "sglang")
        self._http = HttpGet(
            checked_url(engine_url, httpx) + _PATH,
            authorization(api_key),
            httpx,
            timeout_ms=timeout_ms,
            max_body_bytes=max_body_bytes,
        )
        self._with_key = bool(api_key)
        self._given_dp_size = dp_size
        self._unix_ms = unix_ms
        self._dp_ranks = frozenset(range(dp_size or 0))
        self._absent: tuple[int, str] | None = None
        self._stamped_by_receipt: frozenset[int] = frozenset()

    @property
    def url(self) -> str:
        """What is asked."""
        return self._http.url

    @property
    def stamped_by_receipt(self) -> frozenset[int]:
        """The ranks of the last answer that carry no time of the engine's, only that of the answer's arrival."""
        return self._stamped_by_receipt

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return ranks 0 to the number of ranks - 1; none while neither the engine nor the caller has told the number."""
        return self._dp_ranks

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return what the engine answers.

        Raises:
            SourceUnavailableError: It doesn't answer, or without a rank set; `reason` is a word of HttpReason.
            InvalidSnapshotError: A value has the wrong type, or is no rank or time.
        """
        now_ms = self._unix_ms()
        # A distance, not an age: a wall clock that stepped back must not end the asking for as long as it stepped.
        if self._absent is not None and abs(now_ms - self._absent[0]) < _ABSENT_FOR_MS:
            raise SourceUnavailableError(HttpReason.ROUTE_ABSENT, self._absent[1])
        self._absent = None
        answer = await self._http.get()
        try:
            loads = parse_loads(
                answer.status,
                answer.headers,
                answer.body,
                received_unix_ms=self._unix_ms(),
                where=self.url,
                with_key=self._with_key,
            )
        except SourceUnavailableError as error:
            if error.reason == HttpReason.ROUTE_ABSENT:
                self._absent = (now_ms, f"{error} (asked again every {_ABSENT_FOR_MS // 1_000} s)")
            raise
        if self._given_dp_size is None:
            self._dp_ranks = frozenset(range(loads.dp_size))
        self._stamped_by_receipt = loads.stamped_by_receipt
        return loads.ranks

    async def aclose(self) -> None:
        """Close the connection to the engine; a later pull opens another. May be repeated."""
        await self._http.aclose()

"""What an engine's `/metrics` tells of its load: vLLM's, SGLang's, or that of any engine whose metrics a mapping declares."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._http_answer import check_answer
from loadmonitor_worker.sources._http_get import HttpGet, authorization, checked_url, httpx_module
from loadmonitor_worker.sources._metrics_question import Question
from loadmonitor_worker.sources._metrics_ranks import read_ranks
from loadmonitor_worker.sources._prom_text import lines_of, prometheus_parsers, read_samples
from loadmonitor_worker.sources._time import system_unix_ms
from loadmonitor_worker.sources._v1_loads import MOST_RANKS
from loadmonitor_worker.sources.metrics_mapping import CAPACITIES, MetricsMapping

# Classic first: it is shorter, and where it is cut off, HTTP notices.
_ACCEPT: Final = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1"
_ABSENT: Final = "give the address of the engine's HTTP server; SGLang has this route with --enable-metrics only"


class MetricsSource:
    """Asks an engine for its metrics, once a pull, over a connection that is kept.

    A metrics text doesn't say when its numbers were taken. A rank is stamped with the moment before it was asked for, and so is
    never called newer than that; how old a gauge was when it was written is the engine's secret. Where the text gives a series a
    time of its own that is older, the rank has that.

    Fields that the engine has no metric for are None in the ranks, and `unknown_fields` says why. A metric that is needed and
    absent makes the report UNREACHABLE, and so does an engine that sleeps.

    Without `dp_size` the ranks are taken from the text, from the lowest to the highest one in it; only `dp_size` can tell that
    the last ones are missing.

    Call `aclose` when done with it, in the event loop that used it.

    Args:
        mapping: "vllm", "sglang", another shipped name, the path of a TOML file, or a MetricsMapping.
        engine_url: The engine's HTTP address, `http://HOST:PORT`; the mapping's path is added. The environment's proxies are
            not used.
        api_key: Sent as a bearer token; None or "" sends none.
        dp_size: Number of ranks that the engine must tell, 1 to 65535, or None to take the text's word.
        first_dp_rank: The lowest rank of this engine, where it serves a part of a larger set: ranks are global. It counts
            with `dp_size`, and for an engine that doesn't name its rank.
        max_total_num_tokens: KV capacity of each rank in tokens, above 0; None where the engine tells it.
        max_running_requests: Most requests that may run at once in each rank, above 0; None where the engine tells it. vLLM
            doesn't: its `--max-num-seqs`.
        select: What labels must be where a series has them, to choose one engine out of a text of several.
        prefix: What stands before each name of the mapping, such as `ray_`.
        timeout_ms: For a whole pull, redirects and body included; above 0. The reporter gives a pull one second.
        max_body_bytes: Longest answer that is received; above 0.
        unix_ms: The clock that stamps the ranks, in milliseconds since the Unix epoch.

    Raises:
        ConfigError: A setting is out of range, the mapping isn't valid, or nobody tells a capacity. The key is never repeated
            in a message.
        MissingExtraError: httpx or prometheus_client isn't installed.
    """

    def __init__(
        self,
        mapping: MetricsMapping | str | Path,
        engine_url: str,
        *,
        api_key: str | None = None,
        dp_size: int | None = None,
        first_dp_rank: int = 0,
        max_total_num_tokens: int | None = None,
        max_running_requests: int | None = None,
        select: Mapping[str, str] = MappingProxyType({}),
        prefix: str = "",
        timeout_ms: int = 800,
        max_body_bytes: int = 4 * 1024 * 1024,
        unix_ms: Callable[[], int] = system_unix_ms,
    ) -> None:
        declared = mapping if isinstance(mapping, MetricsMapping) else MetricsMapping.load(mapping)
        fixed = {"max_total_num_tokens": max_total_num_tokens, "max_running_requests": max_running_requests}
        for name, value, most in (
            ("dp_size", dp_size, MOST_RANKS),
            *((name, value, 2**63 - 1) for name, value in fixed.items()),
        ):
            if value is not None and not (type(value) is int and 1 <= value <= most):
                raise ConfigError(f"{name}={value!r} is not allowed: 1 to {most} is, or None")
        if not (type(first_dp_rank) is int and 0 <= first_dp_rank <= MOST_RANKS - (dp_size or 1)):
            raise ConfigError(f"first_dp_rank={first_dp_rank!r} is not allowed: 0 to {MOST_RANKS - (dp_size or 1)} is")
        for name in CAPACITIES:
            if fixed[name] is None and name not in declared.readings:
                raise ConfigError(
                    f"{name} is needed: {declared.engine} has no metric for it, and a router can't use a load without: give the "
                    "number that the engine was started with, for each rank"
                )
        httpx = httpx_module(type(self).__name__, "metrics")
        self._parsers = prometheus_parsers(type(self).__name__)
        self._http = HttpGet(
            checked_url(engine_url, httpx) + declared.path,
            {"accept": _ACCEPT, **authorization(api_key)},
            httpx,
            timeout_ms=timeout_ms,
            max_body_bytes=max_body_bytes,
        )
        self._with_key = bool(api_key)
        self._question = Question(
            declared,
            {name: value for name, value in fixed.items() if value is not None},
            dict(select),
            prefix,
            first_dp_rank,
            self._http.url,
        )
        self._wanted = lines_of(self._question.wanted)
        self._unix_ms = unix_ms
        self._given_dp_size = dp_size
        self._dp_ranks = frozenset(range(first_dp_rank, first_dp_rank + (dp_size or 0)))
        self._unknown: Mapping[str, str] = {}

    @property
    def url(self) -> str:
        """What is asked."""
        return self._http.url

    @property
    def unknown_fields(self) -> Mapping[str, str]:
        """The fields that the last answer didn't tell for at least one rank, each with the reason."""
        return self._unknown

    def expected_dp_ranks(self) -> frozenset[int]:
        """Return the ranks that were given, or those from the lowest to the highest of the last text; none before the first."""
        return self._dp_ranks

    async def get_loads(self) -> Sequence[RankSnapshot]:
        """Return what the engine's metrics say.

        Raises:
            SourceUnavailableError: They can't be had, or lack what is needed; `reason` is a word of HttpReason or MetricsReason.
            InvalidSnapshotError: A value can't be one of its field, or a label no rank.
        """
        requested_unix_ms = self._unix_ms()
        answer = await self._http.get()
        check_answer(answer.status, answer.headers, where=self.url, with_key=self._with_key, absent=_ABSENT)
        samples = read_samples(
            answer.body, answer.headers.get("content-type", ""), self._wanted, self._parsers, where=self.url
        )
        loads = read_ranks(samples, self._question, requested_unix_ms=requested_unix_ms)
        if self._given_dp_size is None:
            self._dp_ranks = frozenset(range(loads.ranks[0].dp_rank, loads.ranks[-1].dp_rank + 1))
        self._unknown = loads.unknown
        return loads.ranks

    async def aclose(self) -> None:
        """Close the connection to the engine; a later pull opens another. May be repeated."""
        await self._http.aclose()

"""The load of one data-parallel rank at one moment, as a source hands it to the reporter."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSnapshot:
    """The scheduler load of one rank; field for field the wire's RankLoad.

    Nothing is checked here: the reporter validates the complete rank set of each pull.

    None is for a source whose engine doesn't tell a value; a report says so. A router of the contract's first version knows it of the
    fields from `prefill_throughput` on only, and reads 0 in the others; `utilization` has -1 instead.

    Attributes:
        dp_rank: Data-parallel rank, 0 to 2**31 - 1.
        snapshot_time_unix_ms: When the engine took these numbers, or None when it doesn't say.
        num_running_reqs: Requests in the running batch.
        num_waiting_reqs: Requests in the waiting queue.
        num_waiting_uncached_tokens: Prompt tokens waiting whose KV isn't cached; None when unknown.
        num_used_tokens: KV tokens in use; at most `max_total_num_tokens`; None when unknown.
        num_total_tokens: Tokens in use plus tokens waiting, in the engine's own count; None when unknown.
        max_total_num_tokens: KV capacity in tokens; 0 means not published yet.
        max_running_requests: Most requests that may run at once; 0 means not published yet.
        token_usage: The engine's own ratio, 0 to 1; the fullest of its pools, so it may exceed used / max; None when unknown.
        gen_throughput: Generated tokens per second; None when unknown.
        cache_hit_rate: Prefix cache hits, 0 to 1; None when unknown.
        utilization: The engine's own ratio; -1 where the engine doesn't compute it (SGLang's prefill workers).
        prefill_throughput: Uncached prompt tokens per second; None when unknown.
        prefill_uncached_tokens_total: Uncached prompt tokens since the engine started; None when unknown.
        prefill_busy_us_total: Microseconds spent in prefill since the engine started; None when unknown.
        generated_tokens_total: Tokens generated since the engine started; None when unknown.
    """

    dp_rank: int
    snapshot_time_unix_ms: int | None
    num_running_reqs: int = 0
    num_waiting_reqs: int = 0
    num_waiting_uncached_tokens: int | None = 0
    num_used_tokens: int | None = 0
    num_total_tokens: int | None = 0
    max_total_num_tokens: int = 0
    max_running_requests: int = 0
    token_usage: float | None = 0.0
    gen_throughput: float | None = 0.0
    cache_hit_rate: float | None = 0.0
    utilization: float = 0.0
    prefill_throughput: float | None = None
    prefill_uncached_tokens_total: int | None = None
    prefill_busy_us_total: int | None = None
    generated_tokens_total: int | None = None

"""Metrics texts as engines write them, and how a test has one read without a server."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from loadmonitor_worker import RankSnapshot
from loadmonitor_worker.sources import MetricsMapping
from loadmonitor_worker.sources._metrics_question import Question
from loadmonitor_worker.sources._metrics_ranks import MetricsLoads, read_ranks
from loadmonitor_worker.sources._prom_text import lines_of, prometheus_parsers, read_samples

DATA = Path(__file__).parent / "data" / "metrics"
NOW = 1_800_000_000_000
WHERE = "http://engine/metrics"
CAPACITY: Mapping[str, int] = {"max_total_num_tokens": 160_000, "max_running_requests": 256}


def text_of(name: str) -> str:
    """The text of an engine that is told apart by its file name."""
    return (DATA / f"{name}.prom").read_text()


def read(
    text: str,
    mapping: str | MetricsMapping = "vllm",
    *,
    fixed: Mapping[str, int] = CAPACITY,
    select: Mapping[str, str] | None = None,
    prefix: str = "",
    content_type: str = "",
    unlabelled_rank: int = 0,
) -> MetricsLoads:
    """The ranks of a text that was asked for at NOW."""
    declared = mapping if isinstance(mapping, MetricsMapping) else MetricsMapping.load(mapping)
    question = Question(declared, fixed, select or {}, prefix, unlabelled_rank, WHERE)
    samples = read_samples(
        text.encode(errors="surrogateescape"),
        content_type,
        lines_of(question.wanted),
        prometheus_parsers("a test"),
        where=WHERE,
    )
    return read_ranks(samples, question, requested_unix_ms=NOW)


def ranks(text: str, mapping: str | MetricsMapping = "vllm", **settings: Mapping[str, str] | str) -> list[RankSnapshot]:
    """The ranks of a text alone."""
    return list(read(text, mapping, **settings).ranks)  # type: ignore[arg-type]


def told(rank: RankSnapshot) -> dict[str, object]:
    """What a rank tells besides its number and its time; what it leaves unknown is left out."""
    values = {field.name: getattr(rank, field.name) for field in fields(rank)}
    del values["dp_rank"], values["snapshot_time_unix_ms"]
    return {name: value for name, value in values.items() if value is not None}


def vllm(
    running: object = 1, waiting: object = 2, usage: object = 0.5, *, labels: str = '{engine="0",model_name="m"}'
) -> str:
    """The three gauges without which nothing is known of a vLLM engine."""
    return (
        f"vllm:num_requests_running{labels} {running}\n"
        f"vllm:num_requests_waiting{labels} {waiting}\n"
        f"vllm:kv_cache_usage_perc{labels} {usage}\n"
    )


def sglang(running: object = 1, waiting: object = 2, usage: object = 0.5, *, labels: str = '{model_name="m"}') -> str:
    """The same of an SGLang engine."""
    return (
        f"sglang:num_running_reqs{labels} {running}\n"
        f"sglang:num_queue_reqs{labels} {waiting}\n"
        f"sglang:token_usage{labels} {usage}\n"
    )

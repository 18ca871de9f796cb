"""Which of the two text formats an answer is in, and what happens to one that is in neither."""

from collections.abc import Callable

import pytest
from metrics_texts import ranks, vllm
from prometheus_client import CollectorRegistry, Counter, Gauge, exposition
from prometheus_client.openmetrics import exposition as openmetrics_exposition

from loadmonitor_worker.errors import MissingExtraError, SourceUnavailableError
from loadmonitor_worker.sources import MetricsReason
from loadmonitor_worker.sources._prom_text import prometheus_parsers

CLASSIC = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# In OpenMetrics times are seconds, in the classic text milliseconds.
STAMPED = vllm().replace("} 2\n", "} 2 1700000000\n")
ENDED = STAMPED + "# EOF\n"


def stamp(text: str, content_type: str) -> int | None:
    [rank] = ranks(text, content_type=content_type)
    return rank.snapshot_time_unix_ms


def refusal(text: str, content_type: str) -> str:
    with pytest.raises(SourceUnavailableError) as caught:
        ranks(text, content_type=content_type)
    assert caught.value.reason == MetricsReason.BAD_TEXT
    return str(caught.value)


@pytest.mark.parametrize("content_type", [OPENMETRICS, OPENMETRICS.upper(), "application/openmetrics-text"])
def test_openmetrics_by_its_type(content_type: str) -> None:
    assert stamp(ENDED, content_type) == 1_700_000_000_000


@pytest.mark.parametrize("content_type", [CLASSIC, "text/plain;version=1.0.0"])
def test_the_classic_text_by_its_type_even_if_it_ends_like_the_other(content_type: str) -> None:
    assert stamp(STAMPED, content_type) == stamp(ENDED, content_type) == 1_700_000_000


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/plain; charset=utf-8", "text/html", "x", ";;"])
def test_without_a_type_that_says_so_the_last_line_tells(content_type: str) -> None:
    assert stamp(ENDED, content_type) == stamp(ENDED + "\n \n", content_type) == 1_700_000_000_000
    assert stamp(STAMPED, content_type) == 1_700_000_000


@pytest.mark.parametrize("text", [STAMPED, ENDED.removesuffix("EOF\n"), "", ENDED[:-80]])
def test_openmetrics_without_its_last_line_was_cut_off(text: str) -> None:
    assert "its last line is not # EOF, so it was cut off, or is another format" in refusal(text, OPENMETRICS)


@pytest.mark.parametrize(
    ("write", "content_type"),
    [
        (exposition.generate_latest, exposition.CONTENT_TYPE_LATEST),
        (openmetrics_exposition.generate_latest, openmetrics_exposition.CONTENT_TYPE_LATEST),
    ],
)
def test_what_prometheus_client_writes_is_read_in_both_formats(
    write: Callable[[CollectorRegistry], bytes], content_type: str
) -> None:
    registry = CollectorRegistry()
    labels = ["engine", "model_name"]
    for name, values in (("num_requests_running", (3, 9)), ("num_requests_waiting", (0, 72))):
        gauge = Gauge(f"vllm:{name}", "A gauge\nwith two lines", labels, registry=registry)
        for engine, value in enumerate(values):
            gauge.labels(str(engine), 'a "quoted", }{ label\nof two lines').set(value)
    usage = Gauge("vllm:kv_cache_usage_perc", "Its name ends in no unit", labels, registry=registry)
    tokens = Counter("vllm:generation_tokens", "Has a _created beside it", labels, registry=registry)
    for rank in ("0", "1"):
        usage.labels(rank, "m").set(0.25)
        tokens.labels(rank, "m").inc(500, exemplar={"trace_id": "abc"})
    first, second = ranks(write(registry).decode(), content_type=content_type)
    assert (first.num_running_reqs, first.num_waiting_reqs, first.generated_tokens_total) == (3, 0, 500)
    assert (second.num_running_reqs, second.num_waiting_reqs, second.generated_tokens_total) == (9, 72, 500)


def test_a_line_of_another_metric_is_not_looked_at() -> None:
    odd = '{{{\nother{a="} 1\nother 1 2 3 4\nother_total{x=y}\n# TYPE other nonsense\n# TYPE\n# HELP\n#\nnan\n'
    assert ranks(odd + vllm() + odd, content_type=CLASSIC) == ranks(vllm())


@pytest.mark.parametrize(
    "line",
    [
        'vllm:num_requests_running{engine="0" 1',
        'vllm:num_requests_running{engine="0"}',
        'vllm:num_requests_running{engine="0"} one',
        "vllm:num_requests_running{engine=0} 1",
        'vllm:num_requests_running{engine="0",engine="1"} 1',
        "vllm:num_requests_running 1_0",
    ],
)
def test_a_wanted_line_that_can_not_be_read_is_no_value(line: str) -> None:
    refusal(f"{vllm()}{line}\n", CLASSIC)
    refusal(f"{vllm()}{line}\n# EOF\n", OPENMETRICS)


def test_bytes_that_are_no_text_are_named() -> None:
    assert "byte 3 of 6 is not UTF-8" in refusal("# \udcff\n#\n"[:1] + " \n\udcff\n\n", "text/plain")
    assert "the answer of type 'image/png' is no metrics text" in refusal("\udc89PNG", "image/png")
    assert "the answer without a type" in refusal("\udc89PNG", "")


def test_series_of_a_counter_may_carry_exemplars_in_openmetrics() -> None:
    text = vllm() + (
        "# TYPE vllm:generation_tokens counter\n"
        'vllm:generation_tokens_total{engine="0",model_name="m"} 7 # {trace_id="abc"} 1.0\n# EOF\n'
    )
    assert [rank.generated_tokens_total for rank in ranks(text, content_type=OPENMETRICS)] == [7]


def test_prometheus_client_is_asked_for_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client.parser", None)
    with pytest.raises(MissingExtraError, match=r"MetricsSource needs an optional dependency: .*\[metrics\]"):
        prometheus_parsers("MetricsSource")

"""MetricsSource against real HTTP servers: what is asked, what is bounded, which ranks are expected, and what time they have."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress

import pytest
from http_engine import Answer, HttpEngine, Writer, failure, http_engine, ok, response
from metrics_texts import NOW, sglang, text_of, vllm

from loadmonitor_worker._pull import Puller
from loadmonitor_worker._verdict import Attempt, ReportStatus, judge
from loadmonitor_worker.errors import ConfigError, MissingExtraError, SourceUnavailableError
from loadmonitor_worker.sources import HttpReason, MetricsMapping, MetricsReason, MetricsSource
from loadmonitor_worker.testing import ManualClock

KEY = "sk-not-for-logs-0123456789"
CLASSIC = "Content-Type: text/plain; version=0.0.4; charset=utf-8"
GOOD = ok(text_of("vllm_dp2").encode(), CLASSIC)


@asynccontextmanager
async def metrics_engine(answer: Answer = GOOD) -> AsyncIterator[HttpEngine]:
    async with http_engine() as engine:
        engine.answers["/metrics"] = answer
        yield engine


@asynccontextmanager
async def source_of(
    engine: HttpEngine, mapping: str | MetricsMapping = "vllm", **settings: object
) -> AsyncIterator[MetricsSource]:
    given: dict[str, object] = {"max_running_requests": 256, "timeout_ms": 5_000, **settings}
    source = MetricsSource(mapping, engine.url, **given)  # type: ignore[arg-type]
    async with aclosing(source):
        yield source


async def attempt(source: MetricsSource) -> Attempt:
    """What the reporter makes of one pull."""
    outcome: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
    Puller(source, source.expected_dp_ranks, ManualClock(), budget_ms=5_000, clamp=False).pull(outcome.set_result)
    return await outcome


async def test_the_metrics_are_asked_for_as_text_and_uncompressed_and_the_ranks_become_known() -> None:
    async with metrics_engine() as engine, source_of(engine, api_key=KEY) as source:
        assert source.expected_dp_ranks() == frozenset()
        loads = await source.get_loads()
        assert [(load.dp_rank, load.num_running_reqs) for load in loads] == [(0, 3), (1, 9)]
        assert source.expected_dp_ranks() == {0, 1}
        assert engine.targets == ["/metrics"]
        [headers] = engine.headers
        assert headers["accept"].startswith("text/plain;version=0.0.4")
        assert headers["accept-encoding"] == "identity"
        assert headers["authorization"] == f"Bearer {KEY}"
        assert source.url == f"{engine.url}/metrics"


async def test_a_mappings_path_is_asked() -> None:
    async with http_engine() as engine, source_of(engine, "trtllm") as source:
        engine.answers["/prometheus/metrics"] = ok(text_of("trtllm").encode(), CLASSIC)
        [load] = await source.get_loads()
        assert load.max_running_requests == 256


async def test_ranks_have_the_time_before_they_were_asked_for() -> None:
    clock = [NOW, NOW + 40]
    async with metrics_engine() as engine, source_of(engine, unix_ms=lambda: clock.pop(0)) as source:
        assert {load.snapshot_time_unix_ms for load in await source.get_loads()} == {NOW}
        assert {load.snapshot_time_unix_ms for load in await source.get_loads()} == {NOW + 40}


async def test_a_report_of_a_slow_answer_is_as_old_as_the_question() -> None:
    clock = [NOW]
    async with metrics_engine() as engine, source_of(engine, unix_ms=lambda: clock[0]) as source:

        async def slowly(writer: Writer) -> None:
            clock[0] += 3_500
            writer.write(GOOD)

        engine.answers["/metrics"] = slowly
        verdict = judge(Attempt(await source.get_loads()), now_unix_ms=clock[0], stale_after_ms=3_000)
        assert (verdict.status, verdict.max_snapshot_age_ms) == (ReportStatus.STALE, 3_500)


async def test_the_reporter_is_handed_a_complete_set_on_the_first_pull() -> None:
    async with metrics_engine() as engine, source_of(engine) as source:
        outcome = await attempt(source)
        assert outcome.error is None
        assert [rank.dp_rank for rank in outcome.ranks] == [0, 1]


async def test_ranks_that_are_not_shown_are_missed_where_their_number_is_given() -> None:
    # An engine that shows the last of its four ranks only.
    text = vllm(labels='{engine="3"}') + 'vllm:cache_config_info{block_size="16",num_gpu_blocks="10"} 1\n'
    async with metrics_engine(ok(text.encode(), CLASSIC)) as engine:
        async with source_of(engine, dp_size=4) as source:
            assert (await attempt(source)).error == "ranks 0, 1, 2 missing of the 4 expected ranks"
        async with source_of(engine, dp_size=1, first_dp_rank=3) as source:
            assert source.expected_dp_ranks() == {3}
            assert (await attempt(source)).error is None


async def test_a_gap_between_ranks_is_missed_without_any_number() -> None:
    text = "".join(vllm(labels=f'{{engine="{rank}"}}') for rank in (4, 6))
    answer = ok(text.encode(), CLASSIC)
    async with metrics_engine(answer) as engine, source_of(engine, max_total_num_tokens=1_000) as source:
        assert (await attempt(source)).error == "rank 5 missing of the 3 expected ranks"


async def test_an_engine_that_names_no_rank_has_the_first() -> None:
    settings = {"max_total_num_tokens": 1_000, "first_dp_rank": 6}
    answer = ok(sglang().encode(), CLASSIC)
    async with metrics_engine(answer) as engine, source_of(engine, "sglang", **settings) as source:
        outcome = await attempt(source)
        assert [rank.dp_rank for rank in outcome.ranks] == [6]
        assert source.expected_dp_ranks() == {6}


async def test_an_engine_that_starts_is_unknown_until_it_tells() -> None:
    async with http_engine() as engine, source_of(engine) as source:
        steps: list[tuple[Answer, str]] = [
            (response("503 Service Unavailable"), HttpReason.HTTP_STATUS),
            (response("404 Not Found"), HttpReason.ROUTE_ABSENT),
            (response("401 Unauthorized"), HttpReason.UNAUTHORIZED),
            (ok(b"python_info 1\n", CLASSIC), MetricsReason.FAMILY_ABSENT),
            (ok(b"", CLASSIC), MetricsReason.FAMILY_ABSENT),
            (response("204 No Content"), HttpReason.HTTP_STATUS),
        ]
        for answer, reason in steps:
            engine.answers["/metrics"] = answer
            error = await failure(source)
            assert error.reason == reason
            assert engine.url in str(error)
            assert (await attempt(source)).ranks == ()
        engine.answers["/metrics"] = GOOD
        assert len(await source.get_loads()) == 2


async def test_a_refused_connection_says_what_to_do() -> None:
    source = MetricsSource("vllm", "http://127.0.0.1:1", max_running_requests=1, timeout_ms=5_000)
    async with aclosing(source):
        error = await failure(source)
    assert error.reason == HttpReason.UNREACHABLE
    assert "Connection refused: start the engine" in str(error)


async def test_a_server_that_hangs_or_drips_costs_one_deadline() -> None:
    async def hang(writer: Writer) -> None:
        writer.write(GOOD[:-10])
        await asyncio.Event().wait()

    async def drip(writer: Writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"#\n")
            await asyncio.sleep(0.001)

    async with metrics_engine(hang) as engine, source_of(engine, timeout_ms=100) as source:
        assert (await failure(source)).reason == HttpReason.TIMEOUT
        engine.answers["/metrics"] = drip
        assert (await failure(source)).reason == HttpReason.TIMEOUT
        engine.answers["/metrics"] = GOOD
        while True:
            # A busy machine may miss so short a deadline once more.
            with suppress(SourceUnavailableError):
                assert len(await source.get_loads()) == 2
                break


async def test_an_answer_beyond_the_cap_is_not_received() -> None:
    async with metrics_engine() as engine:
        async with source_of(engine, max_body_bytes=1_000) as source:
            error = await failure(source)
        assert error.reason == HttpReason.TOO_LARGE
        assert "more than 1000 bytes" in str(error)
        async with source_of(engine, max_body_bytes=len(text_of("vllm_dp2").encode())) as source:
            assert len(await source.get_loads()) == 2


async def test_a_redirect_is_followed_on_the_host_and_never_off_it() -> None:
    async with metrics_engine() as engine, metrics_engine() as other, source_of(engine, api_key=KEY) as source:
        # What is mounted at /metrics/ redirects to itself with a slash.
        engine.answers["/metrics/"] = GOOD
        engine.answers["/metrics"] = response("307 Temporary Redirect", b"", "Location: /metrics/")
        assert len(await source.get_loads()) == 2
        for location in (f"{other.url}/metrics", "https://127.0.0.1/metrics", "file:///etc/hostname"):
            engine.answers["/metrics"] = response("302 Found", b"", f"Location: {location}")
            assert (await failure(source)).reason == HttpReason.REDIRECTED_OFF_HOST
        assert other.targets == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://h/", "h:8000", "http://", "http://u:p@h:1", "", 5])
def test_only_an_http_address_is_taken(url: str) -> None:
    with pytest.raises(ConfigError, match="engine_url"):
        MetricsSource("vllm", url, max_running_requests=1)


async def test_a_server_that_lies_about_its_type_is_read_by_what_it_sends_or_not_at_all() -> None:
    text = text_of("vllm_dp2").encode()
    ended = text + b"# EOF\n"
    cases: list[tuple[bytes, str, str | None]] = [
        (text, "text/html", None),
        (text, "application/json", None),
        (ended, "application/octet-stream", None),
        (ended, "text/plain; version=0.0.4", None),
        (text, "application/openmetrics-text; version=1.0.0", MetricsReason.BAD_TEXT),
        (ended[:-50], "application/openmetrics-text; version=1.0.0", MetricsReason.BAD_TEXT),
        (b"<html><body>Sign in</body></html>", "text/plain", MetricsReason.FAMILY_ABSENT),
        (b'{"vllm:num_requests_running": 5}', "text/plain", MetricsReason.FAMILY_ABSENT),
        (b"\x1f\x8b\x08\x00", "text/plain", MetricsReason.BAD_TEXT),
    ]
    async with http_engine() as engine, source_of(engine) as source:
        for body, kind, reason in cases:
            engine.answers["/metrics"] = ok(body, f"Content-Type: {kind}")
            if reason is None:
                assert len(await source.get_loads()) == 2
            else:
                assert (await failure(source)).reason == reason
        engine.answers["/metrics"] = response("200 OK", text)
        assert len(await source.get_loads()) == 2


async def test_a_body_that_was_compressed_unasked_is_not_unpacked() -> None:
    answer = ok(gzip.compress(text_of("vllm_dp2").encode()), CLASSIC, "Content-Encoding: gzip")
    async with metrics_engine(answer) as engine, source_of(engine) as source:
        assert (await failure(source)).reason == HttpReason.COMPRESSED


async def test_an_answer_that_breaks_off_is_none() -> None:
    async def break_off(writer: Writer) -> None:
        writer.write(GOOD[:-10])
        writer.close()

    async with metrics_engine(break_off) as engine, source_of(engine) as source:
        assert (await failure(source)).reason == HttpReason.NOT_HTTP


async def test_one_connection_serves_pull_after_pull_and_ends_with_aclose() -> None:
    async with metrics_engine() as engine, source_of(engine) as source:
        for _ in range(5):
            await source.get_loads()
        assert engine.connections == 1
        await source.aclose()
        await source.aclose()
        await engine.deserted()


async def test_what_is_not_told_follows_the_last_answer() -> None:
    async with metrics_engine() as engine, source_of(engine) as source:
        assert source.unknown_fields == {}
        await source.get_loads()
        assert "generated_tokens_total" not in source.unknown_fields
        text = text_of("vllm_dp2").replace("vllm:generation_tokens_total", "vllm:other_total")
        engine.answers["/metrics"] = ok(text.encode(), CLASSIC)
        await source.get_loads()
        assert source.unknown_fields["generated_tokens_total"] == "vLLM shows no vllm:generation_tokens_total"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "max_running_requests is needed: vLLM has no metric for it"),
        ({"max_running_requests": 0}, "max_running_requests=0 is not allowed: 1 to"),
        ({"max_running_requests": True}, "max_running_requests=True is not allowed"),
        ({"max_running_requests": 1, "max_total_num_tokens": -1}, "max_total_num_tokens=-1 is not allowed"),
        ({"max_running_requests": 1, "dp_size": 0}, "dp_size=0 is not allowed: 1 to 65535 is, or None"),
        ({"max_running_requests": 1, "first_dp_rank": -1}, "first_dp_rank=-1 is not allowed: 0 to 65534 is"),
        ({"max_running_requests": 1, "first_dp_rank": 65_530, "dp_size": 8}, "first_dp_rank=65530 is not allowed"),
        ({"max_running_requests": 1, "timeout_ms": 0}, "timeout_ms=0 is not allowed: an integer of at least 1 is"),
        ({"max_running_requests": 1, "max_body_bytes": 1.5}, "max_body_bytes=1.5 is not allowed"),
        ({"max_running_requests": 1, "api_key": f"{KEY}\n"}, "api_key holds a character that a header can't carry"),
    ],
)
def test_a_setting_out_of_range_is_refused_and_named(settings: Mapping[str, object], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MetricsSource("vllm", "http://h:1", **settings)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


def test_without_its_extra_the_source_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"MetricsSource needs an optional dependency: .*\[metrics\]"):
        MetricsSource("vllm", "http://h:1", max_running_requests=1)

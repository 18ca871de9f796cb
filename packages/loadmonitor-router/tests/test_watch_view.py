"""What `loadmonitor watch` makes of a Worker, without a wire or a terminal."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from loadmonitor_proto import RankLoad, ReportStatus
from loadmonitor_router import (
    Connection,
    ConnectionState,
    Freshness,
    Grant,
    Receipt,
    WorkerReport,
    WorkerState,
    cli,
    decode_report,
)
from loadmonitor_router.cli import _text
from loadmonitor_router.cli._json import json_line
from loadmonitor_router.cli._output import PlainOutput
from loadmonitor_router.cli._table import _render
from loadmonitor_router.cli._view import WorkerView, rows, view
from loadmonitor_router.testing import ManualClock, wire_rank, wire_report

BUILT = 1_750_000_000_000


def connection(
    state: ConnectionState = ConnectionState.REGISTERED, last_error: str | None = None, interval_ms: int | None = 1_000
) -> Connection:
    grant = Grant(
        lease_ttl_ms=9,
        renew_after_ms=3,
        report_interval_ms=interval_ms,
        stale_after_ms=None,
        min_report_interval_ms=None,
        max_lease_ttl_ms=None,
        source_instance_id=None,
        max_unacked_reports=None,
    )
    return Connection(
        state=state,
        since_ns=0,
        retry_at_ns=None,
        last_error=last_error,
        grant=grant if state is ConnectionState.REGISTERED else None,
        reconnects=0,
        received=0,
        dropped={},
        last_drop=None,
        superseded=0,
    )


def report(
    clock: ManualClock, *ranks: RankLoad, delay_ms: float | None = 5.0, unreachable: str | None = None
) -> WorkerReport:
    receipt = Receipt(monotonic_ns=clock.monotonic_ns(), delay_ms=delay_ms)
    if unreachable is not None:
        status = ReportStatus.REPORT_STATUS_UNREACHABLE
        return decode_report(wire_report(1, ranks=[], status=status, last_error=unreachable), receipt)
    return decode_report(wire_report(1, ranks=ranks), receipt)


def three_ranks() -> list[RankLoad]:
    return [
        wire_rank(0, num_waiting_reqs=0, token_usage=0.25, snapshot_time_unix_ms=BUILT - 40),
        wire_rank(1, num_waiting_reqs=11, token_usage=0.72, snapshot_time_unix_ms=BUILT),
        wire_rank(2, num_waiting_reqs=0, token_usage=0.5, snapshot_time_unix_ms=BUILT),
    ]


def test_the_workers_row_sums_counts_keeps_the_fullest_usage_and_shows_the_spread(clock: ManualClock) -> None:
    whole, *ranks = rows(view("w:1", connection(), report(clock, *three_ranks()), clock))
    assert (whole.rank, whole.running, whole.waiting, whole.uncached) == ("all", 36, 11, 3 * 4_096)
    assert (whole.usage, whole.generated, whole.reason) == (0.72, 2_400, "spread 11 waiting")
    assert [(row.rank, row.waiting, row.usage) for row in ranks] == [("0", 0, 0.25), ("1", 11, 0.72), ("2", 0, 0.5)]


@pytest.mark.parametrize("state", WorkerState)
def test_the_reason_says_when_an_engine_gets_no_new_request_though_it_is_fresh(
    clock: ManualClock, state: WorkerState
) -> None:
    told = replace(report(clock, *three_ranks()), worker_state=state)
    whole, *_ = rows(view("w:1", connection(), told, clock))
    assert whole.status is Freshness.FRESH
    assert whole.reason == (
        "spread 11 waiting" if state is WorkerState.SERVING else f"{state.name}: gets no new request"
    )
    broken = replace(report(clock, unreachable="no file"), worker_state=WorkerState.LOADING)
    [row] = rows(view("w:1", connection(), broken, clock))
    assert row.reason == "LOADING: gets no new request; no file"


def test_ages_grow_between_reports_and_each_rank_has_its_own(clock: ManualClock) -> None:
    shown = report(clock, *three_ranks())
    clock.move(100)
    assert [row.age_ms for row in rows(view("w:1", connection(), shown, clock))] == [125, 125, 105, 105]


def test_a_rank_that_has_published_nothing_is_unknown_and_so_is_the_workers_sum(clock: ManualClock) -> None:
    silent = RankLoad(dp_rank=1)
    whole, full, empty = rows(view("w:1", connection(), report(clock, wire_rank(0), silent), clock))
    assert (full.running, empty.running, whole.running) == (12, None, None)
    assert (empty.usage, empty.generated, empty.age_ms) == (None, None, None)
    assert (whole.usage, whole.generated, whole.status) == (None, None, Freshness.STALE)
    assert empty.reason == "nothing published yet"


@pytest.mark.parametrize(
    ("state", "last_error", "reason"),
    [
        (ConnectionState.CONNECTING, None, "connecting"),
        (ConnectionState.CONNECTING, "UNAVAILABLE: refused", "UNAVAILABLE: refused"),
        (ConnectionState.BACKING_OFF, "UNAVAILABLE: refused", "UNAVAILABLE: refused"),
        (ConnectionState.FAILED, "w:1 refuses this router", "w:1 refuses this router"),
    ],
)
def test_a_worker_whose_connection_is_lost_has_no_numbers(
    clock: ManualClock, state: ConnectionState, last_error: str | None, reason: str
) -> None:
    (row,) = rows(view("w:1", connection(state, last_error), report(clock, wire_rank(0)), clock))
    assert (row.status, row.reason) == (Freshness.MISSING, reason)
    assert (row.age_ms, row.running, row.waiting, row.uncached, row.usage, row.generated) == (None,) * 6


def test_an_engine_that_can_not_be_read_has_no_numbers(clock: ManualClock) -> None:
    (row,) = rows(view("w:1", connection(), report(clock, unreachable="no snapshot file"), clock))
    assert (row.status, row.running, row.reason) == (Freshness.UNREACHABLE, None, "no snapshot file")


def test_the_window_is_never_shorter_than_two_granted_intervals(clock: ManualClock) -> None:
    shown = report(clock, wire_rank(0))
    clock.move(9_000)
    assert view("w:1", connection(interval_ms=1_000), shown, clock).assessment.freshness is Freshness.STALE
    assert view("w:1", connection(interval_ms=None), shown, clock).assessment.freshness is Freshness.STALE
    assert view("w:1", connection(interval_ms=5_000), shown, clock).assessment.freshness is Freshness.FRESH


def test_a_json_line_has_the_wires_names_and_null_for_what_is_not_known(clock: ManualClock) -> None:
    unknown = wire_rank(0, utilization=-1, max_running_requests=0)
    line = json.loads(json_line(view("w:1", connection(), report(clock, unknown), clock)))
    assert list(line) == [
        "schema", "time", "worker", "freshness", "age_ms", "reason", "connection", "report",
    ]  # fmt: skip
    assert (line["schema"], line["time"], line["worker"]) == ("loadmonitor.watch/1", "2025-06-15T15:06:40.000Z", "w:1")
    assert (line["freshness"], line["age_ms"], line["connection"]) == ("stale", 25, "registered")
    assert line["report"]["status"] == "REPORT_STATUS_HEALTHY"
    assert line["report"]["worker"]["worker_type"] == "WORKER_TYPE_REGULAR"
    (rank,) = line["report"]["ranks"]
    assert set(rank) == {field.name for field in RankLoad.DESCRIPTOR.fields} - {"unknown_field_numbers"}
    assert (rank["utilization"], rank["max_running_requests"], rank["prefill_throughput"]) == (None, None, None)
    assert rank["num_running_reqs"] == 12


def test_a_json_age_is_rounded_up_and_never_down(clock: ManualClock) -> None:
    line = json.loads(json_line(view("w:1", connection(), report(clock, wire_rank(0), delay_ms=0.01), clock)))
    assert line["age_ms"] == 21


def test_a_json_line_of_a_lost_worker_has_no_report(clock: ManualClock) -> None:
    lost = connection(ConnectionState.BACKING_OFF, "UNAVAILABLE: refused")
    line = json.loads(json_line(view("w:1", lost, None, clock)))
    assert (line["report"], line["age_ms"], line["reason"]) == (None, None, "UNAVAILABLE: refused")
    assert (line["freshness"], line["connection"]) == ("missing", "backing_off")


def plain_lines(capsys: pytest.CaptureFixture[str], *shown: WorkerView, brief: bool = False) -> list[list[str]]:
    output = PlainOutput(width=3, brief=brief)
    for one in shown:
        output.show(one)
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_brief_plain_output_leaves_out_the_ranks(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    shown = view("w:1", connection(), report(clock, *three_ranks()), clock)
    assert [line[2] for line in plain_lines(capsys, shown, brief=True)] == ["RANK", "all"]


def test_plain_output_prints_only_the_rows_that_changed(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    first = view("w:1", connection(), report(clock, *three_ranks()), clock)
    changed = three_ranks()
    changed[2].num_running_reqs = 13
    clock.move(1_000)
    second = view("w:1", connection(), report(clock, *changed), clock)
    lines = plain_lines(capsys, first, first, second)
    assert lines[0][:5] == ["TIME", "WORKER", "RANK", "STATUS", "AGE"]
    assert [line[2] for line in lines[1:]] == ["all", "0", "1", "2", "all", "2"]
    assert lines[6] == [
        "2025-06-15T15:06:41.000Z", "w:1", "2", "fresh", "5ms", "13", "0", "4096", "0.50", "800",
    ]  # fmt: skip


def test_plain_output_says_dash_and_why_for_a_lost_worker_and_shows_its_ranks_again_later(
    clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    well = view("w:1", connection(), report(clock, wire_rank(0)), clock)
    lost = view("w:1", connection(ConnectionState.BACKING_OFF, "refused"), None, clock)
    lines = plain_lines(capsys, well, lost, well)
    assert lines[3][1:] == ["w:1", "all", "missing", "-", "-", "-", "-", "-", "-", "refused"]
    assert [line[2] for line in lines[4:]] == ["all", "0"]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(None, "-"), (0, "0ms"), (84.4, "84ms"), (4_100, "4.1s"), (90_000, "1.5m"), (9_000_000, "2.5h")],
)
def test_ages_for_people(milliseconds: float | None, text: str) -> None:
    assert _text.age(milliseconds) == text


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0, "0"), (812, "812"), (9_216, "9.2k"), (1_300_000, "1.3M")])
def test_counts_for_people(value: int | None, text: str) -> None:
    assert _text.short_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.0, "·········"), (0.72, "██████▌··"), (1.0, "█████████"), (7.0, "█████████")],
)
def test_bars_for_people(value: float | None, text: str) -> None:
    assert _text.bar(value) == text
    assert len(text) in (0, 9)


def test_what_a_worker_says_has_no_power_over_a_terminal_and_forges_no_row(clock: ManualClock) -> None:
    said = report(clock, unreachable="bad\nFAKE ROW fresh\x1b[2J\x07")
    [row] = rows(view("w:1", connection(), said, clock))
    assert row.reason == "bad\\nFAKE ROW fresh\\x1b[2J\\x07"


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (40, "WORKER RANK STATUS RUN WAIT"),
        (48, "WORKER RANK STATUS AGE RUN WAIT"),
        (80, "WORKER RANK STATUS AGE RUN WAIT UNCACHED USAGE GEN tok/s"),
        (110, "WORKER RANK STATUS AGE RUN WAIT UNCACHED USAGE GEN tok/s REASON"),
    ],
)
def test_a_narrow_terminal_has_fewer_columns_and_none_cut(clock: ManualClock, width: int, titles: str) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(
            _render([view("127.0.0.1:50061", connection(), report(clock, *three_ranks()), clock)], None, width=width)
        )
    lines = captured.get().splitlines()
    assert lines[1].split() == titles.split()
    assert lines[2].split()[:3] == ["127.0.0.1:50061", "all", "fresh"]
    assert "…" not in captured.get()


@pytest.mark.parametrize("width", [40, 110])
def test_without_workers_the_drawing_says_so_and_why(width: int) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(_render([], "no server\x1b answers", width=width))
    assert captured.get().splitlines() == ["no workers known", "no server\\x1b answers"]


def test_a_reason_names_the_flags_of_the_command(clock: ManualClock, capsys: pytest.CaptureFixture[str]) -> None:
    lost = connection(ConnectionState.BACKING_OFF, "TLS: the Worker speaks TLS: give its CA as tls_ca_file")
    (row,) = rows(view("w:1", lost, None, clock))
    assert row.reason == "TLS: the Worker speaks TLS: give its CA as --tls-ca-file"
    assert cli.run(["conformance", "127.0.0.1:1", "--tls-ca-file", "/absent.pem", "--token-file", "/absent"]) == 2
    assert "--tls-ca-file=/absent.pem can't be used" in capsys.readouterr().err

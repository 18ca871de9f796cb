"""Whatever the load and however an engine writes it down, the ranks say that load; and nothing but a source error is ever raised."""

from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics_texts import read

from loadmonitor_worker.errors import SourceError
from loadmonitor_worker.sources import MetricsReason

COUNTS = st.integers(0, 10**12)
RATIOS = st.floats(0, 1, allow_subnormal=False)
JUNK = [
    "",
    "# a comment",
    "# EOX",
    "python_info 1",
    "sglang:num_running_reqs_total 5",
    'other{a="}"} NaN',
    "sglang:num 3",
]


@dataclass(frozen=True)
class Load:
    running: dict[str, int]
    waiting: dict[str, int]
    usage: float
    generated: int | None


PARTS = st.dictionaries(st.sampled_from(["0", "1", "-1", "7"]), COUNTS, min_size=1, max_size=3)
LOADS = st.dictionaries(
    st.integers(0, 300), st.builds(Load, PARTS, PARTS, RATIOS, st.none() | COUNTS), min_size=1, max_size=5
)


@st.composite
def texts(draw: st.DrawFn, loads: dict[int, Load]) -> str:
    """The loads as SGLang writes them: each scheduler's process tells its rank's, split by priority or not, in any order."""
    sign = draw(st.sampled_from([":", "_"]))
    lines = draw(st.lists(st.sampled_from(JUNK), max_size=4))
    for rank, load in loads.items():
        for process in range(draw(st.integers(1, 3))):
            labels = f'dp_rank="{rank}",pid="{900 + process}",tp_rank="{process}",model_name="org/m:tag}}"'
            for name, parts in (("num_running_reqs", load.running), ("num_queue_reqs", load.waiting)):
                how = draw(st.sampled_from(["whole", "parts", "both"]))
                if how != "parts":
                    empty = draw(st.sampled_from(["", ',priority=""'])) if how == "whole" else ',priority=""'
                    lines.append(f"sglang{sign}{name}{{{labels}{empty}}} {sum(parts.values())}")
                if how != "whole":
                    lines += [f'sglang{sign}{name}{{{labels},priority="{key}"}} {parts[key]}' for key in parts]
            lines.append(f"sglang{sign}token_usage{{{labels}}} {load.usage!r}")
            # The other processes of vLLM's kind write zeros where they know nothing.
            generated = load.generated if process == 0 else 0
            if load.generated is not None:
                lines.append(f'sglang{sign}realtime_tokens_total{{{labels},mode="decode"}} {generated}')
                lines.append(f'sglang{sign}realtime_tokens_created{{{labels},mode="decode"}} 1.78e9')
    return "\n".join(draw(st.permutations(lines))) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(st.data(), LOADS)
def test_the_ranks_say_what_was_written_down(data: st.DataObject, loads: dict[int, Load]) -> None:
    found = read(data.draw(texts(loads)), "sglang").ranks
    assert [rank.dp_rank for rank in found] == sorted(loads)
    for rank in found:
        load = loads[rank.dp_rank]
        assert rank.num_running_reqs == sum(load.running.values())
        assert rank.num_waiting_reqs == sum(load.waiting.values())
        assert rank.token_usage == load.usage
        assert rank.generated_tokens_total == load.generated


@given(st.data(), LOADS, st.sampled_from(["running", "queue", "usage"]), st.sampled_from(["drop", "NaN", "-1"]))
def test_a_rank_that_lacks_a_needed_value_is_never_an_idle_one(
    data: st.DataObject, loads: dict[int, Load], family: str, how: str
) -> None:
    lines = data.draw(texts(loads)).split("\n")
    victims = [rank for rank in loads if len(loads) > 1] or list(loads)
    victim = f'dp_rank="{data.draw(st.sampled_from(victims))}"'
    kept = []
    for line in lines:
        hit = victim in line and family in line
        if not hit:
            kept.append(line)
        elif how != "drop":
            kept.append(f"{line.rpartition(' ')[0]} {how}")
    with pytest.raises(SourceError) as caught:
        read("\n".join(kept), "sglang")
    assert getattr(caught.value, "reason", None) in {MetricsReason.FAMILY_ABSENT, MetricsReason.VALUE_UNKNOWN}


NAMES = "vllm:num_requests_running vllm_num_requests_waiting vllm:kv_cache_usage_perc vllm:generation_tokens_total"
SIGNS = '{ } engine="0" engine="x" = " , 1 -1 NaN 1e400 \\ # 99999999999999999999'
ODD = [" ", "\n", "\t", "\u2028", "\udcff", "# EOF", ' # {a="b"} 1', "# TYPE vllm:generation_tokens counter"]
FRAGMENTS = st.sampled_from([*NAMES.split(), *SIGNS.split(), *ODD])


@given(
    st.lists(FRAGMENTS, max_size=40).map("".join),
    st.sampled_from(["", "text/plain; version=0.0.4", "application/openmetrics-text"]),
)
def test_nothing_but_a_source_error_comes_of_any_text(text: str, content_type: str) -> None:
    with suppress(SourceError):
        assert read(text, content_type=content_type).ranks

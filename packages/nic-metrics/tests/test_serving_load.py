"""The serving load in metrics texts as engines, proxies and agents have been seen to write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nic_metrics import (
    DEFAULT_LOAD_METRICS,
    LoadMetric,
    LoadUnit,
    ServingLoad,
    ServingLoadReader,
    ServingLoadReason,
)

KV = "vllm:kv_cache_usage_perc"
OLD_KV = "vllm:gpu_cache_usage_perc"
TOKENS = "sglang:token_usage"


def read(text: str, **select: str) -> ServingLoad:
    return ServingLoadReader(select=select).read(text.encode())


def outcome(text: str, **select: str) -> tuple[float | None, ServingLoadReason | None]:
    load = read(text, **select)
    return load.value, load.reason


def test_e01_one_process_of_eight_knows_and_its_value_counts() -> None:
    series = [f'{KV}{{engine="0",model_name="Qwen/Qwen3-VL-8B-Instruct",pid="{pid}"}} 0.0\n' for pid in range(271, 279)]
    series[2] = series[2].replace(" 0.0", " 0.6530455880475035")
    assert read(f"# TYPE {KV} gauge\n{''.join(series)}") == ServingLoad(0.6530455880475035, None, KV, 8)


def test_e02_ranks_whose_series_are_missing_are_unknown() -> None:
    text = f'{KV}{{engine="3",model_name="m"}} 0.25\n'
    assert outcome(text, engine="3") == (0.25, None)
    for engine in "012":
        assert outcome(text, engine=engine) == (None, ServingLoadReason.NO_SUCH_RANK)
    assert read(text, engine="0").detail == "no series has engine='0'"


@pytest.mark.parametrize("metric", DEFAULT_LOAD_METRICS, ids=lambda metric: metric.name)
def test_each_known_metric_alone_is_read(metric: LoadMetric) -> None:
    assert outcome(f'{metric.name}{{model_name="m"}} 0.5\n') == (0.5, None)


@pytest.mark.parametrize("text", [f"{OLD_KV} 0.9\n{KV} 0.25\n", f"{KV} 0.25\n{OLD_KV} 0.9\n"])
def test_e03_of_the_old_name_and_the_new_one_the_new_one_counts_and_they_are_never_added(text: str) -> None:
    assert read(text) == ServingLoad(0.25, None, KV, 1)


def test_an_engine_name_counts_before_that_of_a_frontend() -> None:
    assert read(f"dynamo_component_gpu_cache_usage_percent 0.9\n{TOKENS} 0.1\n") == ServingLoad(0.1, None, TOKENS, 1)


def test_e05_e13_metrics_whose_names_merely_begin_or_end_alike_are_not_read() -> None:
    text = (
        f'{KV}_by_reason{{engine="0",reason="capacity"}} 0.9\n{KV}_created 1.789056823729462e+09\n'
        f"vllm:cpu_cache_usage_perc 0.8\nmy_{KV} 0.7\n"
    )
    assert outcome(text) == (None, ServingLoadReason.NO_METRIC)
    assert outcome(f'{text}{KV}{{engine="0"}} 0.25\n') == (0.25, None)


def test_e08_schedulers_of_one_rank_show_one_load_and_not_their_sum() -> None:
    text = "".join(f'{TOKENS}{{dp_rank="0",pp_rank="0",tp_rank="{rank}"}} 0.25\n' for rank in range(4))
    assert outcome(text, dp_rank="0") == (0.25, None)


def test_e09_a_rank_reports_its_own_load_whatever_the_order_and_the_processes() -> None:
    loads = {3: 0.3, 0: 0.9, 7: 0.7, 1: 0.1}
    text = "".join(
        f'{TOKENS}{{dp_rank="{rank}",engine_type="unified",model_name="deepseek-r1",pid="{910 + rank}",tp_rank="{rank}"}} {load}\n'
        for rank, load in loads.items()
    )
    for rank, load in loads.items():
        assert outcome(text, dp_rank=str(rank)) == (load, None)
    assert outcome(text) == (0.9, None)


def test_e10_text_that_went_through_an_aggregator_without_colons_is_read() -> None:
    assert read('sglang_token_usage{model_name="org/m_tag"} 0.5\n') == ServingLoad(0.5, None, "sglang_token_usage", 1)


def test_e11_a_router_s_aggregate_tells_its_workers_apart_by_address() -> None:
    text = (
        'sglang_token_usage{engine_type="prefill",worker_addr="http://10.0.0.1:15000"} 0.63\n'
        'sglang_token_usage{engine_type="decode",worker_addr="http://10.0.0.1:15004"} 0.11\n'
    )
    assert outcome(text, worker_addr="http://10.0.0.1:15004") == (0.11, None)
    assert outcome(text) == (0.63, None)


def test_e12_a_percentage_where_a_ratio_is_expected_is_flagged_and_not_scaled_in_silence() -> None:
    load = read(f'{TOKENS}{{name="google/gemma-2-9b-it"}} 87.58777633289988\n')
    assert (load.value, load.reason) == (None, ServingLoadReason.OUT_OF_RANGE)
    assert load.detail == "87.5878 is more than 1"


def test_one_series_above_the_whole_makes_the_others_doubtful_too() -> None:
    assert outcome(f'{KV}{{engine="0"}} 0.4\n{KV}{{engine="1"}} 55\n') == (None, ServingLoadReason.OUT_OF_RANGE)


def test_a_declared_percentage_is_read_as_one() -> None:
    reader = ServingLoadReader(metrics=[LoadMetric("my_usage", LoadUnit.PERCENT)])
    assert reader.read(b"my_usage 55\n").value == 0.55
    assert reader.read(b"my_usage 0.4\n").value == 0.004
    assert reader.read(b"my_usage 100\n").value == 1.0
    assert reader.read(b"my_usage 100.5\n").reason is ServingLoadReason.OUT_OF_RANGE


def test_e12_the_name_of_the_model_label_is_of_no_importance() -> None:
    assert outcome(f'{TOKENS}{{name="google/gemma-2-9b-it"}} 0.5\n') == (0.5, None)


def test_e14_prefixes_are_told_and_the_sentinel_minus_one_is_unknown() -> None:
    text = f'ray_{OLD_KV}{{Component="core_worker",WorkerId="w1"}} 5.882698982295764e-05\n'
    assert read(text) == ServingLoad(5.882698982295764e-05, None, f"ray_{OLD_KV}", 1)
    assert outcome(f"ray_{KV} -1.0\n") == (None, ServingLoadReason.NOT_KNOWN)
    assert ServingLoadReader(prefixes=["fleet:"]).read(f"fleet:{KV} 0.5\n".encode()).value == 0.5
    assert ServingLoadReader(prefixes=["fleet:"]).read(f"fleet_{KV.replace(':', '_')} 0.5\n".encode()).value == 0.5
    assert ServingLoadReader(prefixes=["fleet:"]).read(f"{KV} 0.5\n".encode()).reason is ServingLoadReason.NO_METRIC


def test_e15_times_spaces_braces_and_quotes_in_labels_do_not_hinder() -> None:
    assert outcome(f'{OLD_KV}{{model_name="my model"}} 0.75 1719849600000\n') == (0.75, None)
    text = f'{KV}{{engine="0",model_name="org/m:tag}}v1\\"q\\\\n"}} 0.5\nvllm:num_requests_waiting{{engine="1"}} NaN\n{KV} NaN\n'
    assert read(text) == ServingLoad(0.5, None, KV, 1, ignored=1)


@pytest.mark.parametrize("value", ["NaN", "-3", "-1.0", "-Inf"])
def test_e15_what_the_engine_does_not_know_is_unknown_and_no_older_name_stands_in(value: str) -> None:
    load = read(f"{KV} {value}\n{OLD_KV} 0.0\n")
    assert load == ServingLoad(None, ServingLoadReason.NOT_KNOWN, KV, ignored=1)


def test_a_rank_that_does_not_know_beside_one_that_is_next_to_idle_is_not_idle() -> None:
    text = f'{KV}{{engine="0"}} 0.01\n{KV}{{engine="1"}} NaN\n'
    detail = "at least 0.01, and 1 of 2 series are not known"
    assert read(text) == ServingLoad(None, ServingLoadReason.NOT_KNOWN, KV, 1, 1, detail)
    assert outcome(text, engine="0") == (0.01, None)


def test_infinity_is_no_load() -> None:
    assert outcome(f"{KV} +Inf\n") == (None, ServingLoadReason.OUT_OF_RANGE)


@pytest.mark.parametrize(
    "text",
    ["", "\n", 'python_info{version="3.11"} 1\nprocess_cpu_seconds_total 12.5\n', "<html><body>hello</body></html>"],
)
def test_e16_a_text_without_engine_series_is_unknown_and_not_idle(text: str) -> None:
    assert read(text) == ServingLoad(None, ServingLoadReason.NO_METRIC)


def test_e18_what_a_dead_process_left_behind_counts_as_no_text_tells_it_apart() -> None:
    assert outcome(f'{KV}{{pid="100"}} 0.75\n{KV}{{pid="200"}} 0.1\n') == (0.75, None)


SLEEP = 'vllm:engine_sleep_state{{engine="{0}",sleep_state="awake"}} {1}\nvllm:engine_sleep_state{{engine="{0}",sleep_state="discard_all"}} 0\n'


def test_e20_a_sleeping_engine_is_unknown_and_not_idle() -> None:
    idle = f'{KV}{{engine="0"}} 0.0\nvllm:num_requests_running{{engine="0"}} 0.0\n'
    assert outcome(idle + SLEEP.format(0, 0.0)) == (None, ServingLoadReason.SLEEPING)
    assert outcome(idle + SLEEP.format(0, 1.0)) == (0.0, None)


def test_of_filtered_sleep_states_the_one_that_is_left_counts() -> None:
    idle = f'{KV}{{engine="0"}} 0.0\n'
    state = 'vllm:engine_sleep_state{{engine="0",sleep_state="weights_offloaded"}} {}\n'
    assert outcome(idle + state.format(1)) == (None, ServingLoadReason.SLEEPING)
    assert outcome(idle + state.format(0)) == (0.0, None)


def test_one_of_two_engines_sleeps_and_only_its_rank_is_unknown() -> None:
    text = f'{KV}{{engine="0"}} 0.0\n{KV}{{engine="1"}} 0.5\n' + SLEEP.format(0, 0) + SLEEP.format(1, 1)
    assert outcome(text, engine="0") == (None, ServingLoadReason.SLEEPING)
    assert outcome(text, engine="1") == (0.5, None)
    assert outcome(text) == (0.5, None)


def test_e21_a_ratio_of_several_is_the_greatest_and_never_their_sum() -> None:
    assert outcome(f'{KV}{{engine="0"}} 0.4\n{KV}{{engine="1"}} 0.4\n') == (0.4, None)


def test_e04_e23_numbers_in_the_labels_of_information_metrics_are_not_read() -> None:
    info = 'vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.9",num_gpu_blocks="None"} 1.0\n'
    assert outcome(info) == (None, ServingLoadReason.NO_METRIC)
    lora = 'vllm:lora_requests_info{max_lora="2",running_lora_adapters=""} 1.7886264577368872e+09\n'
    assert outcome(lora + f"{KV} 0.5\n") == (0.5, None)


def test_e19_e22_counters_that_stand_still_or_restart_are_not_read() -> None:
    assert outcome("sglang:generation_tokens_total 1000\nsglang:num_running_reqs 1\n") == (
        None,
        ServingLoadReason.NO_METRIC,
    )


def test_a_label_that_no_series_has_does_not_tell_ranks_apart() -> None:
    assert outcome(f'{TOKENS}{{model_name="m"}} 0.5\n', dp_rank="0") == (0.5, None)
    assert outcome(f'{TOKENS}{{dp_rank="",model_name="m"}} 0.5\n', dp_rank="0") == (0.5, None)
    assert outcome(f'{TOKENS} 0.5\n{TOKENS}{{dp_rank="1"}} 0.25\n', dp_rank="0") == (
        None,
        ServingLoadReason.NO_SUCH_RANK,
    )


def test_a_rank_s_series_of_a_later_name_are_found_behind_other_ranks_of_an_earlier_one() -> None:
    assert outcome(f'{KV}{{engine="0"}} 0.9\n{OLD_KV}{{engine="1"}} 0.25\n', engine="1") == (0.25, None)


def test_a_wanted_line_that_cannot_be_read_is_unknown_although_others_can() -> None:
    load = read(f'{KV}{{engine="0"}} 0.0\n{KV}{{engine="1" 0.9\n')
    assert (load.value, load.reason) == (None, ServingLoadReason.BAD_LINE)
    assert "line 2" in load.detail


def test_openmetrics_that_was_cut_off_is_unknown_although_the_metric_is_there() -> None:
    load = ServingLoadReader().read(f"{KV} 0.0\n".encode(), "application/openmetrics-text; version=1.0.0")
    assert (load.value, load.reason) == (None, ServingLoadReason.CUT_OFF)


def test_minus_zero_is_zero() -> None:
    assert repr(outcome(f"{KV} -0.0\n")[0]) == "0.0"


@pytest.mark.parametrize("arguments", [{"metrics": []}, {"prefixes": []}, {"prefixes": ["a b"]}])
def test_a_reader_of_nothing_is_refused(arguments: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match=r"are empty|is no metric's name"):
        ServingLoadReader(**arguments)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from([KV, OLD_KV, TOKENS]), st.integers(0, 2), st.floats() | st.floats(0, 1))))
def test_a_load_is_from_0_to_1_and_0_only_where_a_series_says_so(series: list[tuple[str, int, float]]) -> None:
    load = read("".join(f'{name}{{engine="{engine}"}} {value!r}\n' for name, engine, value in series), engine="1")
    assert (load.value is None) is (load.reason is not None)
    if load.value is not None:
        assert 0 <= load.value <= 1
        assert (load.metric, 1, load.value) in series


@given(st.binary(max_size=60), st.sampled_from(["", "text/plain", "application/openmetrics-text"]))
def test_no_text_whatever_raises(noise: bytes, content_type: str) -> None:
    load = ServingLoadReader().read(b"vllm:kv_cache_usage_perc" + noise, content_type)
    assert (load.value is None) is (load.reason is not None)

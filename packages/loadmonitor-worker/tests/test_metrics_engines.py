"""Whole texts of engines: what each value of each rank must be, worked out by hand beside it."""

import pytest
from metrics_texts import CAPACITY, NOW, ranks, read, sglang, text_of, told, vllm

from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.sources import MetricsReason

SLOTS = {"max_running_requests": 256}


def refusal(text: str, mapping: str = "vllm", **settings: str) -> SourceUnavailableError:
    with pytest.raises(SourceUnavailableError) as caught:
        ranks(text, mapping, **settings)
    return caught.value


def test_each_engine_of_a_vllm_with_two_is_a_rank_of_its_own() -> None:
    loads = read(text_of("vllm_dp2"), fixed=SLOTS)
    assert [(rank.dp_rank, rank.snapshot_time_unix_ms) for rank in loads.ranks] == [(0, NOW), (1, NOW)]
    first, second = map(told, loads.ranks)
    assert first == {
        "num_running_reqs": 3,
        "num_waiting_reqs": 0,
        "token_usage": 0.125,
        # 7281 blocks of 16 tokens: 7281 * 16
        "max_total_num_tokens": 116_496,
        # an eighth of them
        "num_used_tokens": 14_562,
        "max_running_requests": 256,
        # only what was computed: the 400 tokens from the cache aren't work
        "prefill_uncached_tokens_total": 600,
        # not the time of creation, 1.789e9, beside it
        "generated_tokens_total": 155_722,
        # vLLM computes none; -1 is the wire's word for that
        "utilization": -1,
    }
    # 72 by the gauge; the gauge by reason holds the same 72 again. 8000 * 16 tokens, three quarters of them in use.
    assert (second["num_running_reqs"], second["num_waiting_reqs"]) == (9, 72)
    assert (second["max_total_num_tokens"], second["num_used_tokens"], second["token_usage"]) == (128_000, 96_000, 0.75)


def test_what_vllm_does_not_tell_is_unknown_and_not_zero() -> None:
    loads = read(text_of("vllm_dp2"), fixed=SLOTS)
    for rank in loads.ranks:
        for field in (
            "num_waiting_uncached_tokens",
            "num_total_tokens",
            "gen_throughput",
            "cache_hit_rate",
            "prefill_throughput",
            "prefill_busy_us_total",
        ):
            assert getattr(rank, field) is None
            assert field in loads.unknown
    assert loads.unknown["num_total_tokens"] == "vLLM has no metric for it"
    assert loads.unknown["cache_hit_rate"] == "vLLM shows no vllm:gpu_prefix_cache_hit_rate"


def test_sglangs_tensor_ranks_count_once_and_its_priorities_add_up_unless_their_sum_is_there() -> None:
    first, second = ranks(text_of("sglang_dp2_tp2"), "sglang")
    assert told(first) == {
        # both tensor ranks run the same batch of 10: 10, not 20
        "num_running_reqs": 10,
        # priority 0 has 2 and priority 5 has 1, and no series has their sum: 3, once for both tensor ranks
        "num_waiting_reqs": 3,
        "token_usage": 0.4,
        "num_used_tokens": 64_000,
        "max_total_num_tokens": 160_000,
        "max_running_requests": 256,
        "gen_throughput": 386.20832953491475,
        "cache_hit_rate": 0.71,
        # it is no share: SGLang's utilization may exceed 1
        "utilization": 1.25,
        "prefill_uncached_tokens_total": 55,
        # of what is decoded, as it is decoded; generation_tokens_total (7) grows only when a request ends
        "generated_tokens_total": 1234,
    }
    # priorities -1 and 0 have 4 and 10; the series with an empty priority is their sum already: 14, not 28
    assert (second.num_running_reqs, second.num_waiting_reqs) == (14, 0)
    # 0.9 is the fullest pool's, 16000 / 160000 another's: both stay as they are
    assert (second.token_usage, second.num_used_tokens) == (0.9, 16_000)
    # -1: not computed
    assert second.utilization == -1


def test_a_trtllm_engine_by_its_mapping() -> None:
    [rank] = read(text_of("trtllm"), "trtllm", fixed={}).ranks
    assert told(rank) == {
        "num_running_reqs": 5,
        "num_waiting_reqs": 2,
        "token_usage": 0.25,
        # 1000 and 250 blocks of 32 tokens
        "max_total_num_tokens": 32_000,
        "num_used_tokens": 8_000,
        "max_running_requests": 64,
        "generated_tokens_total": 900,
        "utilization": -1,
    }


def test_an_lmdeploy_engine_by_its_mapping() -> None:
    first, second = ranks(text_of("lmdeploy"), "lmdeploy")
    # half and all of the 160000 tokens that were given
    assert (first.num_running_reqs, first.num_waiting_reqs, first.num_used_tokens) == (4, 0, 80_000)
    assert (second.num_running_reqs, second.num_waiting_reqs, second.num_used_tokens) == (6, 3, 160_000)
    assert (first.generated_tokens_total, second.generated_tokens_total) == (77, 88)


def test_a_llamacpp_server_by_its_mapping_with_and_without_its_cache_gauges() -> None:
    loads = read(text_of("llamacpp"), "llamacpp")
    [rank] = loads.ranks
    assert told(rank) == {
        "num_running_reqs": 4,
        "num_waiting_reqs": 46,
        "generated_tokens_total": 17_029,
        "utilization": -1,
        **CAPACITY,
    }
    assert "llama.cpp shows no llamacpp:kv_cache_usage_ratio" in loads.unknown.values()
    older = text_of("llamacpp") + "llamacpp:kv_cache_usage_ratio 0.25\nllamacpp:kv_cache_tokens 40000\n"
    [rank] = ranks(older, "llamacpp")
    assert (rank.token_usage, rank.num_used_tokens) == (0.25, 40_000)


def test_a_tgi_server_by_its_mapping_leaves_its_cache_unknown() -> None:
    [rank] = ranks(text_of("tgi"), "tgi")
    # the batch's budget of 2048 tokens is neither a use nor a capacity
    assert told(rank) == {"num_running_reqs": 5, "num_waiting_reqs": 3, "utilization": -1, **CAPACITY}


def test_of_eight_processes_that_share_one_engine_the_one_that_knows_counts() -> None:
    # One API server of eight writes the engine's gauge, the others stay at 0: 0.653, neither the mean 0.08 nor the last 0.0.
    text = vllm(2, 0, 0.0, labels='{engine="0",pid="271"}') + "".join(
        f'vllm:kv_cache_usage_perc{{engine="0",pid="{pid}"}} {0.6530455880475035 if pid == 273 else 0.0}\n'
        for pid in (277, 275, 273, 272, 276, 274, 278)
    )
    [rank] = ranks(text)
    assert rank.token_usage == 0.6530455880475035
    # 0.6530455880475035 * 160000 = 104487.29…, in whole tokens
    assert rank.num_used_tokens == 104_487


def test_a_renamed_gauge_is_read_under_either_name_and_under_the_new_one_where_both_are_there() -> None:
    old = vllm(usage=0.25).replace("kv_cache_usage_perc", "gpu_cache_usage_perc")
    assert [rank.token_usage for rank in ranks(old)] == [0.25]
    assert [rank.token_usage for rank in ranks(vllm(usage=0.5))] == [0.5]
    # 0.5, and not 0.75 or 0.25
    assert [rank.token_usage for rank in ranks(old + vllm(usage=0.5))] == [0.5]


def test_a_prefix_that_a_framework_adds_is_a_setting() -> None:
    text = "".join(
        f'ray_vllm:{name}{{Component="core_worker",NodeAddress="192.0.2.4",WorkerId="w1",model_name="m"}} {value}\n'
        for name, value in (
            ("gpu_cache_usage_perc", 5.882698982295764e-05),
            ("num_requests_waiting", 0.0),
            ("num_requests_running", 3.0),
            ("gpu_prefix_cache_hit_rate", -1.0),
        )
    )
    loads = read(text, prefix="ray_")
    [rank] = loads.ranks
    # 5.88e-05 * 160000 = 9.4 tokens
    assert (rank.num_running_reqs, rank.token_usage, rank.num_used_tokens) == (3, 5.882698982295764e-05, 9)
    # -1 is no rate of hits
    assert rank.cache_hit_rate is None
    assert loads.unknown["cache_hit_rate"].startswith("vLLM doesn't know its own vllm:gpu_prefix_cache_hit_rate")
    assert refusal(text).reason == MetricsReason.FAMILY_ABSENT
    assert "shows no ray_vllm:num_requests_running, which" in str(refusal(vllm(), prefix="ray_"))


def test_names_with_colons_and_with_underscores_are_the_same() -> None:
    text = sglang(labels='{model_name="org/m:tag"}')
    assert ranks(text, "sglang") == ranks(text.replace("sglang:", "sglang_"), "sglang")
    # one text with both forms shows one engine twice, and not two
    assert ranks(text + text.replace("sglang:", "sglang_"), "sglang") == ranks(text, "sglang")


def test_a_longer_name_is_another_metric() -> None:
    text = vllm(waiting=72) + 'vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 72\n'
    assert [rank.num_waiting_reqs for rank in ranks(text)] == [72]


def test_reasons_add_up_where_a_count_is_split_by_them() -> None:
    text = vllm().replace(
        'vllm:num_requests_waiting{engine="0",model_name="m"} 2',
        'vllm:num_requests_waiting{engine="0",model_name="m",reason="capacity"} 70\n'
        'vllm:num_requests_waiting{engine="0",model_name="m",reason="deferred"} 2',
    )
    assert [rank.num_waiting_reqs for rank in ranks(text)] == [72]


def test_ratios_are_never_added() -> None:
    parts = "".join(f'sglang:token_usage{{priority="{priority}"}} 0.4\n' for priority in (0, 1))
    text = sglang(labels="").replace("sglang:token_usage 0.5\n", parts)
    # 0.4 and 0.4 of one pool are 0.4
    assert [rank.token_usage for rank in ranks(text, "sglang")] == [0.4]


def test_a_router_that_shows_several_engines_is_asked_for_one() -> None:
    here, there = "http://10.0.0.1:15000", "http://10.0.0.1:15004"
    text = sglang(42, 0, 0.63, labels=f'{{model_name="q",worker_addr="{here}"}}')
    text += sglang(7, 1, 0.1, labels=f'{{model_name="q",worker_addr="{there}"}}')
    error = refusal(text, "sglang")
    assert error.reason == MetricsReason.AMBIGUOUS
    assert f"worker_addr={here!r} and {there!r}" in str(error)
    for address, running in ((here, 42), (there, 7)):
        loads = read(text, "sglang", select={"worker_addr": address})
        assert [rank.num_running_reqs for rank in loads.ranks] == [running]


def test_an_optional_metric_that_is_ambiguous_is_unknown_and_costs_nothing_else() -> None:
    text = vllm() + "".join(f'vllm:generation_tokens_total{{engine="0",lora="{name}"}} 5\n' for name in "ab")
    loads = read(text)
    assert [rank.generated_tokens_total for rank in loads.ranks] == [None]
    assert "lora='a' and 'b'" in loads.unknown["generated_tokens_total"]


@pytest.mark.parametrize("state", ["", 'vllm:engine_sleep_state{sleep_state="weights_offloaded"} 1.0\n'])
def test_a_sleeping_engine_is_not_an_idle_one(state: str) -> None:
    text = vllm(0, 0, 0, labels="") + 'vllm:engine_sleep_state{sleep_state="awake"} 0.0\n' + state
    error = refusal(text)
    assert error.reason == MetricsReason.SLEEPING
    assert "vLLM sleeps, and takes no requests" in str(error)


def test_a_sleeping_rank_is_named() -> None:
    text = text_of("vllm_dp2").replace(
        'engine="1",model_name="org/chat:v1",sleep_state="awake"} 1.0',
        'engine="1",model_name="org/chat:v1",sleep_state="awake"} 0.0',
    )
    assert "rank 1 of vLLM sleeps" in str(refusal(text))


def test_an_engine_that_can_not_sleep_is_awake() -> None:
    assert len(ranks(vllm())) == 1


@pytest.mark.parametrize("missing", ["num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"])
def test_an_absent_family_is_named_and_no_idle_engine(missing: str) -> None:
    text = "".join(line + "\n" for line in vllm(0, 0, 0).splitlines() if missing not in line)
    error = refusal(text)
    assert error.reason == MetricsReason.FAMILY_ABSENT
    assert f"vllm:{missing}" in str(error)


def test_a_text_without_any_engine_says_so() -> None:
    error = refusal("python_gc_objects_collected_total 5\nprocess_cpu_seconds_total 3\n")
    assert error.reason == MetricsReason.FAMILY_ABSENT
    assert str(error) == (
        "http://engine/metrics shows no vllm:num_requests_running, which tells num_running_reqs: vLLM is starting, or something "
        "else answers"
    )


def test_a_family_that_lacks_a_rank_is_named_with_the_rank() -> None:
    text = vllm(labels='{engine="0"}') + vllm(labels='{engine="3"}').replace(
        'waiting{engine="3"} 2\n', 'other{engine="3"} 2\n'
    )
    assert "shows no vllm:num_requests_waiting for rank 3" in str(refusal(text))


def test_a_load_without_a_rank_is_not_shared_out_among_several() -> None:
    text = sglang(labels='{dp_rank="0"}') + sglang(labels='{dp_rank="1"}')
    text = text.replace('sglang:num_queue_reqs{dp_rank="0"} 2\n', "sglang:num_queue_reqs 9\n")
    text = text.replace('sglang:num_queue_reqs{dp_rank="1"} 2\n', "")
    assert "shows no sglang:num_queue_reqs for rank 0" in str(refusal(text, "sglang"))
    # with a single rank there is nothing to share out
    single = sglang(labels='{dp_rank="0"}').replace('num_queue_reqs{dp_rank="0"} 2', "num_queue_reqs 9")
    assert [rank.num_waiting_reqs for rank in ranks(single, "sglang")] == [9]


def test_a_capacity_without_a_rank_is_that_of_every_rank() -> None:
    text = vllm(labels='{engine="0"}') + vllm(labels='{engine="1"}')
    text += 'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1\n'
    assert [rank.max_total_num_tokens for rank in read(text, fixed=SLOTS).ranks] == [1_600, 1_600]


@pytest.mark.parametrize("word", ["None", "", "-1", "nan", "many"])
def test_a_word_where_a_number_belongs_is_no_capacity(word: str) -> None:
    text = vllm() + f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{word}"}} 1\n'
    with pytest.raises(SourceUnavailableError) as caught:
        read(text, fixed=SLOTS)
    assert caught.value.reason == MetricsReason.VALUE_UNKNOWN
    assert "vllm:cache_config_info[num_gpu_blocks]" in str(caught.value)
    assert "give max_total_num_tokens yourself" in str(caught.value)
    # given, it is not read
    assert [rank.max_total_num_tokens for rank in ranks(text)] == [160_000]


def test_sglangs_capacity_is_also_found_in_its_pages() -> None:
    text = sglang() + 'sglang:cache_config_info{num_pages="500",page_size="64"} 1\n'
    assert [rank.max_total_num_tokens for rank in read(text, "sglang", fixed=SLOTS).ranks] == [32_000]


@pytest.mark.parametrize("value", ["NaN", "-1", "-3", "+Inf", "-0.5"])
@pytest.mark.parametrize("field", ["running", "waiting", "usage"])
def test_what_an_engine_does_not_know_is_unknown(field: str, value: str) -> None:
    error = refusal(vllm(**{field: value}))
    assert error.reason == MetricsReason.VALUE_UNKNOWN
    assert "(NaN, negative, or no number)" in str(error)


def test_a_copy_that_does_not_know_may_be_the_one_that_counts() -> None:
    text = vllm(usage=0.0) + 'vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="2"} NaN\n'
    assert refusal(text).reason == MetricsReason.VALUE_UNKNOWN


def test_a_part_that_does_not_know_leaves_the_sum_unknown() -> None:
    text = sglang(labels='{priority="1"}') + 'sglang:num_queue_reqs{priority="2"} NaN\n'
    assert "sglang:num_queue_reqs" in str(refusal(text, "sglang"))
    # where their sum is there, the parts aren't looked at
    known = text + 'sglang:num_queue_reqs{priority=""} 8\n'
    assert [rank.num_waiting_reqs for rank in ranks(known, "sglang")] == [8]


def test_a_hit_rate_above_one_is_flagged_and_not_scaled() -> None:
    # Releases of 2024 told a percentage, under the label `name`.
    loads = read(sglang() + 'sglang:cache_hit_rate{name="google/gemma-2-9b-it"} 87.58777633289988\n', "sglang")
    assert [rank.cache_hit_rate for rank in loads.ranks] == [None]
    assert loads.unknown["cache_hit_rate"].startswith("SGLang tells 87.5878, above 1: a percentage")


def test_a_use_of_the_cache_above_one_is_refused() -> None:
    with pytest.raises(InvalidSnapshotError, match="token_usage is 28, above 1: a percentage") as caught:
        ranks(vllm(usage=28))
    assert caught.value.field == "token_usage"


def test_half_a_request_is_refused() -> None:
    with pytest.raises(InvalidSnapshotError, match=r"num_running_reqs is 2\.5, where a whole number is expected"):
        ranks(vllm(running=2.5))


def test_a_long_queue_beside_nothing_running_is_a_load_like_any_other() -> None:
    assert [(rank.num_running_reqs, rank.num_waiting_reqs) for rank in ranks(sglang(0, 2_826), "sglang")] == [
        (0, 2_826)
    ]


@pytest.mark.parametrize("label", ["x", "-1", "65535", "1.0", "٣", "9" * 5_000])
def test_a_label_that_is_no_rank_is_refused(label: str) -> None:
    with pytest.raises(InvalidSnapshotError, match="where a rank from 0 to 65534 is expected") as caught:
        ranks(vllm(labels=f'{{engine="{label}"}}'))
    assert len(str(caught.value)) < 200


def test_ranks_are_global_and_keep_their_numbers() -> None:
    text = "".join(vllm(rank, labels=f'{{engine="{rank}"}}') for rank in (7, 5, 6))
    assert [(rank.dp_rank, rank.num_running_reqs) for rank in ranks(text)] == [(5, 5), (6, 6), (7, 7)]


def test_an_empty_label_is_an_absent_one() -> None:
    assert [rank.dp_rank for rank in read(vllm(labels='{engine=""}'), unlabelled_rank=4).ranks] == [4]


def test_a_time_that_the_text_gives_makes_a_rank_older_and_never_newer() -> None:
    stamped = vllm().replace("} 2\n", f"}} 2 {NOW - 9_000}\n").replace("} 1\n", f"}} 1 {NOW + 9_000}\n")
    assert [rank.snapshot_time_unix_ms for rank in ranks(stamped)] == [NOW - 9_000]
    assert [rank.snapshot_time_unix_ms for rank in ranks(vllm().replace("} 1\n", f"}} 1 {NOW + 9_000}\n"))] == [NOW]


def test_of_copies_with_times_the_oldest_dates_the_rank() -> None:
    times = (NOW - 5_000, NOW - 7_000, NOW - 6_000)
    copies = "".join(f'vllm:kv_cache_usage_perc{{engine="0",pid="{at}"}} 0.5 {at}\n' for at in times)
    text = vllm(labels='{engine="0"}').replace('vllm:kv_cache_usage_perc{engine="0"} 0.5\n', copies)
    assert [rank.snapshot_time_unix_ms for rank in ranks(text)] == [NOW - 7_000]


def test_values_labels_and_times_of_odd_shapes_are_read() -> None:
    text = (
        'vllm:gpu_cache_usage_perc{model_name="my model"} 0.75 1719849600000\n'
        'vllm:num_requests_running{model_name="org/m:tag}v1\\"q\\\\n",} 5\n'
        "vllm:num_requests_waiting{} 0.0\n"
        "\n"
        "   \n"
        "# a comment\n"
    )
    [rank] = ranks(text)
    assert (rank.token_usage, rank.num_running_reqs, rank.num_waiting_reqs) == (0.75, 5, 0)
    assert rank.snapshot_time_unix_ms == 1_719_849_600_000
    # beside a labelled engine, one without a label that doesn't know says nothing of it
    [rank] = ranks(vllm() + "vllm:kv_cache_usage_perc NaN\n")
    assert rank.token_usage == 0.5


def test_lora_metrics_whose_values_are_times_are_left_alone() -> None:
    text = vllm() + 'vllm:lora_requests_info{max_lora="2",running_lora_adapters="a"} 1.7886264577368872e+09\n'
    assert ranks(text) == ranks(vllm())

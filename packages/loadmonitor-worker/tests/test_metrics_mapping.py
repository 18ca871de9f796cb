"""The mapping that users write for their own engine: what it may say, and what is said of one that is wrong."""

from pathlib import Path

import pytest
from metrics_texts import ranks

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.sources import MetricsMapping, shipped_mappings
from loadmonitor_worker.sources._metrics_terms import Reading, Term, parse_reading

HEAD = 'schema = "loadmonitor.metrics-mapping/1"\nengine = "Triton"\n'
FIELDS = '[fields]\nnum_running_reqs = "running"\nnum_waiting_reqs = "waiting"\n'


def test_a_mapping_of_a_users_own_reads_an_engine_that_nobody_ships_one_for(tmp_path: Path) -> None:
    path = tmp_path / "triton.toml"
    path.write_text(
        HEAD
        + 'rank_label = "instance"\nparts = ["lora"]\ncopies = ["gpu"]\noptional = ["cache_hit_rate", "token_usage"]\n'
        + "[fields]\n"
        + "num_running_reqs = 'nv_requests{type=\"active\"}'\n"
        + 'num_waiting_reqs = \'nv_requests{type="scheduled", kind = "batch"}\'\n'
        + 'token_usage = "nv_blocks{type=\\"fraction\\"}"\n'
        + 'cache_hit_rate = ["nv_hit_percent * 0.01", "nv_hit_ratio"]\n'
        + 'gen_throughput = "1000 * nv_kilotokens_per_second"\n'
    )
    text = "".join(
        f"{line}\n"
        for line in (
            'nv_requests{instance="2",type="active",gpu="0",lora="a"} 4',
            'nv_requests{instance="2",type="active",gpu="1",lora="a"} 4',
            'nv_requests{instance="2",type="active",gpu="0",lora="b"} 1',
            'nv_requests{instance="2",type="active",gpu="1",lora="b"} 1',
            'nv_requests{instance="2",type="scheduled",kind="batch"} 6',
            'nv_requests{instance="2",type="scheduled",kind="single"} 60',
            'nv_hit_percent{instance="2"} 25',
            'nv_kilotokens_per_second{instance="2"} 1.5',
        )
    )
    [rank] = ranks(text, MetricsMapping.load(path))
    # 4 + 1 by adapter, told by both GPUs alike; the 60 are of another kind; 25 % is 0.25; 1.5 thousand
    assert (rank.dp_rank, rank.num_running_reqs, rank.num_waiting_reqs) == (2, 5, 6)
    assert (rank.cache_hit_rate, rank.gen_throughput, rank.token_usage) == (0.25, 1_500, None)


def test_every_shipped_mapping_is_valid_and_says_whose_it_is() -> None:
    engines = {name: MetricsMapping.load(name).engine for name in shipped_mappings()}
    assert engines == {
        "llamacpp": "llama.cpp",
        "lmdeploy": "LMDeploy",
        "sglang": "SGLang",
        "tgi": "TGI",
        "trtllm": "TensorRT-LLM",
        "vllm": "vLLM",
    }


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("a:b_c", Reading((Term("a:b_c"),))),
        ("info[blocks]", Reading((Term("info", (), "blocks"),))),
        (' m{a="b * }, c",d=""}[e] * 0.01 ', Reading((Term("m", (("a", "b * }, c"), ("d", "")), "e"),), (), 0.01)),
        ("2 * 3 * m", Reading((Term("m"),), (), 6.0)),
        ("token_usage*max_total_num_tokens", Reading((), ("token_usage", "max_total_num_tokens"))),
        ('token_usage{a="b"}', Reading((Term("token_usage", (("a", "b"),)),))),
    ],
)
def test_a_reading_is_a_product_of_metrics_fields_and_numbers(text: str, reading: Reading) -> None:
    assert parse_reading(text, "x") == reading


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "can't be read at character 0"),
        ("a b", "can't be read at character 2"),
        ("a *", "can't be read at character 3"),
        ("a + b", "can't be read at character 2"),
        ("a{b=c}", "can't be read at character 1"),
        ("a{}", "can't be read at character 1"),
        ('a{b="c"', "can't be read at character 1"),
        ("a[b", "can't be read at character 1"),
        ("-1 * a", "can't be read at character 0"),
        ("ä", "can't be read at character 0"),
        ("5", "names no metric"),
        ("0 * a", "is always 0: leave the field out, unknown is not 0"),
    ],
)
def test_a_reading_that_is_none_is_shown_where(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_reading(text, "num_used_tokens")
    assert str(caught.value).startswith(f"num_used_tokens={text!r}")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "m is no TOML"),
        ("", "m: schema=None is not known: 'loadmonitor.metrics-mapping/1' is"),
        (HEAD.replace("/1", "/2") + FIELDS, "schema='loadmonitor.metrics-mapping/2' is not known"),
        (HEAD, "m: fields=None is not allowed: a table [fields] is"),
        (HEAD + '[fields]\nnum_running_reqs = "a"', "[fields] lacks num_waiting_reqs"),
        (HEAD + "rank_lable = 'x'\n" + FIELDS, "m: 'rank_lable' is not known: is 'rank_label' meant?"),
        (HEAD + FIELDS + 'num_runing_reqs = "x"', "is 'num_running_reqs' meant?"),
        (HEAD + FIELDS + 'dp_rank = "x"', "m: [fields]: 'dp_rank' is not known"),
        (HEAD + FIELDS + "num_used_tokens = 5", "m: num_used_tokens=5 is not allowed: a reading is"),
        (HEAD + FIELDS + "num_used_tokens = []", "num_used_tokens=[] is not allowed"),
        (HEAD + FIELDS + 'num_used_tokens = ["a", 5]', "num_used_tokens=['a', 5] is not allowed"),
        (HEAD + FIELDS + 'num_used_tokens = "a{b}"', "m: num_used_tokens='a{b}' can't be read at character 1"),
        (HEAD + FIELDS + 'num_used_tokens = "token_usage * a"', "a reading names token_usage, which [fields] lacks"),
        (HEAD + FIELDS + 'token_usage = "token_usage * a"', "names another field: only metrics are allowed for"),
        (HEAD + "path = 'metrics'\n" + FIELDS, "m: path='metrics' is not allowed"),
        (HEAD + "path = '/m?x=1'\n" + FIELDS, "m: path='/m?x=1' is not allowed"),
        (HEAD + "path = 5\n" + FIELDS, "m: path=5 is not allowed: a text is"),
        (HEAD + "copies = 'pid'\n" + FIELDS, "m: copies='pid' is not allowed: a list of names is"),
        (HEAD + "parts = ['']\n" + FIELDS, "m: parts=[''] is not allowed: a list of names is"),
        (
            HEAD + "optional = ['num_used_tokens']\n" + FIELDS,
            "m: optional names num_used_tokens: allowed are fields of",
        ),
        (HEAD + "optional = ['num_running_reqs']\n" + FIELDS, "m: optional names num_running_reqs"),
        (HEAD + "rank_label = 'r'\ncopies = ['r']\n" + FIELDS, "m: label 'r' has two meanings"),
        (HEAD + "parts = ['p']\ncopies = ['p']\n" + FIELDS, "m: label 'p' has two meanings"),
        (HEAD + "awake = 'a * b'\n" + FIELDS, "m: awake='a * b' is not allowed: a single metric is"),
        (HEAD.replace('"Triton"', '""') + FIELDS, "m: engine='' is not allowed: a text is"),
        (HEAD.replace('engine = "Triton"\n', "") + FIELDS, "m: engine=None is not allowed: a text is"),
    ],
)
def test_a_mapping_that_is_wrong_is_told_the_key_and_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MetricsMapping.from_toml(text, where="m")
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_told_with_the_names_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"No such file or directory: give a file, or one of llamacpp, lmdeploy"):
        MetricsMapping.load(tmp_path / "none.toml")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it isn't text"):
        MetricsMapping.load(tmp_path / "binary")
    with pytest.raises(ConfigError, match="can't be read"):
        MetricsMapping.load("../mappings/vllm")

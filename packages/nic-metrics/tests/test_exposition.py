"""Series of metrics texts: both grammars, held against prometheus_client's parsers."""

import math
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from nic_metrics import ExpositionError, ExpositionProblem, Series, SeriesFinder

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
CLASSIC = "text/plain; version=0.0.4; charset=utf-8"
LOAD = "vllm:kv_cache_usage_perc"


def find(text: str, *names: str, content_type: str = CLASSIC) -> list[Series]:
    return SeriesFinder(names or (LOAD,)).find(text.encode(), content_type)


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        (f"{LOAD} 0.5", {}, 0.5),
        (f"{LOAD}{{}} 0.5", {}, 0.5),
        (f"{LOAD} 0.5 1719849600000", {}, 0.5),
        (f"  {LOAD}\t0.5\t-1 ", {}, 0.5),
        (f"{LOAD} 0.5\r", {}, 0.5),
        (f'{LOAD}{{engine="0"}}0.5', {"engine": "0"}, 0.5),
        (f'{LOAD} {{ engine = "0" , model_name = "m" , }} 0.5', {"engine": "0", "model_name": "m"}, 0.5),
        (f'{LOAD}{{m="org/m:tag}}v1\\"q\\\\n\\n"}} 0.5', {"m": 'org/m:tag}v1"q\\n\n'}, 0.5),
        (f'{LOAD}{{m="# {{",n="модель"}} 0.5', {"m": "# {", "n": "модель"}, 0.5),
        (f'{{"{LOAD}",engine="0"}} 0.5', {"engine": "0"}, 0.5),
        (f'{{engine="0","{LOAD}"}} 0.5', {"engine": "0"}, 0.5),
        (f'{LOAD}{{"a.b \\"c"="1"}} 0.5', {'a.b "c': "1"}, 0.5),
        (f"{LOAD} 5e-1", {}, 0.5),
        (f"{LOAD} +.5E+0", {}, 0.5),
        (f"{LOAD} 1.", {}, 1.0),
        (f"{LOAD} -Inf", {}, -math.inf),
        (f"{LOAD} +infinity", {}, math.inf),
        (f"{LOAD} 1e999", {}, math.inf),
    ],
)
def test_classic_lines_are_read(line: str, labels: dict[str, str], value: float) -> None:
    assert find(f"{line}\n") == [Series(LOAD, labels, value)]
    assert find(f"{line}") == [Series(LOAD, labels, value)]


@pytest.mark.parametrize(
    "line",
    [
        f"{LOAD}",
        f"{LOAD} ",
        f"{LOAD} 1-2",
        f"{LOAD} 0x1p3",
        f"{LOAD} 1_000",
        f"{LOAD} +nan",
        f"{LOAD} \u0661",
        f"{LOAD} 0.5 1.5",
        f"{LOAD} 0.5 1 2",
        f"{LOAD} 0.5 # {{}} 1",
        f'{LOAD}{{engine="0" 0.5',
        f"{LOAD}{{engine=0}} 0.5",
        f'{LOAD}{{engine="0"model="m"}} 0.5',
        f'{LOAD}{{,engine="0"}} 0.5',
        f'{LOAD}{{engine="0",,}} 0.5',
        f'{LOAD}{{engine="0",engine="1"}} 0.5',
        f'{LOAD}{{engine="\\t"}} 0.5',
        f'{LOAD}{{engine="0\\"}} 0.5',
        f'{LOAD}{{0="0"}} 0.5',
        f'{LOAD}{{"{LOAD}"}} 0.5',
        f'{{"{LOAD}","{LOAD}"}} 0.5',
        f'{{"{LOAD}" 0.5',
    ],
)
def test_a_wanted_line_that_breaks_the_grammar_is_an_error_and_not_read_over(line: str) -> None:
    with pytest.raises(ExpositionError) as caught:
        find(f"a 1\n{line}\n")
    assert (caught.value.problem, caught.value.line_number) == (ExpositionProblem.BAD_LINE, 2)
    assert "line 2 of the metrics text can't be read" in str(caught.value)


def test_a_wanted_line_that_is_not_utf8_is_an_error() -> None:
    with pytest.raises(ExpositionError):
        SeriesFinder([LOAD]).find(b'vllm:kv_cache_usage_perc{m="\xff"} 1\n')


@pytest.mark.parametrize(
    "line",
    [
        f"# HELP {LOAD} KV-cache usage. 1 means 100 percent usage.",
        f"# TYPE {LOAD} gauge",
        f"#{LOAD} 1",
        f"{LOAD}_created 1.789e9",
        f"{LOAD}_by_reason{{reason=",
        f"ray_{LOAD} 1",
        f'other{{metric="{LOAD}"}} 1',
        f"other{{{LOAD} is broken",
        '{"other kv_cache_usage_perc" broken',
        f'{{"a",b="{LOAD}"}} 1',
        "vllm:cpu_cache_usage_perc 1",
    ],
)
def test_lines_of_other_metrics_are_nobodys_business(line: str) -> None:
    assert find(f"{line}\n") == []


def test_colons_may_be_written_as_underscores_and_label_values_are_left_alone() -> None:
    text = 'sglang_token_usage{model_name="org/m:tag"} 0.5\nsglang:token_usage{model_name="org/m_tag"} 0.25\n'
    assert find(text, "sglang:token_usage") == [
        Series("sglang_token_usage", {"model_name": "org/m:tag"}, 0.5),
        Series("sglang:token_usage", {"model_name": "org/m_tag"}, 0.25),
    ]


def test_series_come_in_the_order_of_the_text() -> None:
    text = "b_usage 1\na_usage 2\nb_usage 3\nusage 4\n"
    assert [series.value for series in find(text, "a_usage", "b_usage", "usage")] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["", "9a", "a-b", "a b", "ü", 'a"b'])
def test_what_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no metric's name"):
        SeriesFinder([name])


def test_openmetrics_is_read_with_exemplar_and_time_in_seconds() -> None:
    text = f'{LOAD}{{engine="0"}} 0.5 1719849600.25 # {{trace_id="a }} b"}} 0.7 1719849600\n# EOF\n'
    assert find(text, content_type=OPENMETRICS) == [Series(LOAD, {"engine": "0"}, 0.5)]


@pytest.mark.parametrize("end", ["# EOF", "# EOF\n", "# EOF\r\n"])
def test_a_text_without_a_type_is_what_its_last_line_says(end: str) -> None:
    exemplar = f"{LOAD} 0.5 # {{}} 1\n"
    assert find(exemplar + end, content_type="") == [Series(LOAD, {}, 0.5)]
    assert find(exemplar + end, content_type="text/plain") == [Series(LOAD, {}, 0.5)]
    with pytest.raises(ExpositionError):
        find(exemplar + end, content_type=CLASSIC)
    with pytest.raises(ExpositionError):
        find(exemplar, content_type="")


@pytest.mark.parametrize(
    "text", ["", f"{LOAD} 0.5\n", f"{LOAD} 0.5\n# EO", f"{LOAD} 0.5\n# EOF\n\n", f"{LOAD} 0.5 # EOF"]
)
def test_openmetrics_without_its_end_was_cut_off(text: str) -> None:
    with pytest.raises(ExpositionError, match="OpenMetrics ends with '# EOF'") as caught:
        find(text, content_type=OPENMETRICS)
    assert caught.value.problem is ExpositionProblem.CUT_OFF


@pytest.mark.parametrize("line", [f" {LOAD} 1", f"{LOAD}  1", f"{LOAD} {{}} 1", f'{LOAD}{{a="b",}} 1', f"{LOAD} 1 "])
def test_openmetrics_allows_no_more_white_space_than_it_says(line: str) -> None:
    with pytest.raises(ExpositionError):
        find(f"{line}\n# EOF\n", content_type=OPENMETRICS)


def test_a_line_that_is_wrong_at_its_end_takes_no_longer_than_one_that_is_right() -> None:
    labels = ",".join(f'"l{number}"="{"x" * 100}"' for number in range(5_000))
    with pytest.raises(ExpositionError):
        find(f"{LOAD}{{{labels}!}} 1\n")
    with pytest.raises(ExpositionError):
        find(f'{LOAD}{{a="{chr(92) * 99_999}\n')


parse_openmetrics: Callable[[str], Iterable[Metric]] = openmetrics_parser.text_string_to_metric_families

# What engines write, and what the grammar allows beyond that.
NAMES = st.sampled_from([LOAD, "vllm_kv_cache_usage_perc", "sglang:token_usage", "a", "a:b", "other_metric"])
LABEL_NAMES = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,3}", fullmatch=True).filter(lambda name: name != "le")
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from('"\\\n{},=# '), max_size=6)
VALUES = st.floats().map(repr) | st.sampled_from(["1", "0", "+Inf", "-Inf", "NaN", "1e5", "8.128902e+06", ".5", "5."])
BLANKS = st.sampled_from(["", "", " ", "\t", "  "])


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@st.composite
def classic_lines(draw: st.DrawFn) -> str:
    blank = draw(BLANKS)
    labels = draw(st.dictionaries(LABEL_NAMES, TEXTS, max_size=3))
    items = [f'{blank}{name}{blank}={blank}"{escaped(text)}"{blank}' for name, text in labels.items()]
    comma = draw(st.sampled_from(["", ","])) if items else ""
    braced = draw(st.booleans())
    braces = f"{{{','.join(items)}{comma}}}" if items or braced else ""
    time = draw(st.sampled_from(["", " 1719849600000", " -5"]))
    return f"{draw(NAMES)}{braces} {draw(VALUES)}{time}"


@st.composite
def openmetrics_lines(draw: st.DrawFn) -> str:
    labels = draw(st.dictionaries(LABEL_NAMES, TEXTS, max_size=3))
    items = [f'{name}="{escaped(text)}"' for name, text in labels.items()]
    braced = draw(st.booleans())
    braces = f"{{{','.join(items)}}}" if items or braced else ""
    return f"{draw(NAMES)}{braces} {draw(VALUES)}{draw(st.sampled_from(['', ' 1719849600', ' 1719849600.25']))}"


def same(ours: Iterable[Series], theirs: Iterable[tuple[str, dict[str, str], float]]) -> bool:
    return [(each.name, each.labels, repr(each.value)) for each in ours] == [
        (name, labels, repr(float(value))) for name, labels, value in theirs
    ]


@given(st.lists(classic_lines(), max_size=5))
def test_every_classic_text_is_read_as_prometheus_client_reads_it(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    wanted = [LOAD, "sglang:token_usage", "a", "a:b"]
    written = {form for name in wanted for form in (name, name.replace(":", "_"))}
    theirs = [sample for family in parse_classic(text) for sample in family.samples]
    assert same(
        find(text, *wanted), [(sample.name, sample.labels, sample.value) for sample in theirs if sample.name in written]
    )


@given(openmetrics_lines())
def test_every_openmetrics_line_is_read_as_prometheus_client_reads_it(line: str) -> None:
    text = f"{line}\n# EOF\n"
    (family,) = parse_openmetrics(text)
    theirs = [(sample.name, sample.labels, sample.value) for sample in family.samples]
    assert same(find(text, LOAD, "sglang:token_usage", "a", "a:b", "other_metric", content_type=OPENMETRICS), theirs)


@given(classic_lines(), st.integers(0, 60), st.sampled_from(['"', "\\", "{", "}", ",", "=", " ", "x", "1", "#", ""]))
def test_what_is_read_of_a_damaged_line_is_what_prometheus_client_reads(line: str, at: int, letter: str) -> None:
    damaged = line[:at] + letter + line[at + 1 :]
    names = (LOAD, "sglang:token_usage", "a", "a:b", "other_metric")
    try:
        ours = find(damaged, *names)
    except ExpositionError:
        return
    if ours:
        (family,) = parse_classic(damaged)
        assert same(ours, [(sample.name, sample.labels, sample.value) for sample in family.samples])

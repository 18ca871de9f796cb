"""docs/metrics-source.md shows a mapping and names reasons, flags and shipped mappings: all of them exist."""

import re
from pathlib import Path

from loadmonitor_worker.sources import HttpReason, MetricsMapping, MetricsReason, shipped_mappings

PAGE = (Path(__file__).parents[2] / "docs" / "metrics-source.md").read_text()


def test_the_mapping_on_the_page_is_valid() -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    mapping = MetricsMapping.from_toml(example)
    assert (mapping.engine, mapping.rank_label, mapping.awake is None) == ("Triton", "instance", False)
    # The comment beside it says that a path left out is this one.
    assert MetricsMapping.from_toml(example.replace('path = "/metrics"', "")).path == "/metrics"


def test_every_reason_stands_in_the_table_and_no_other() -> None:
    table = PAGE.partition("| reason | what it means |")[2].partition("##")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [reason.value for reason in MetricsReason]
    assert not {*MetricsReason} & {*map(str, HttpReason)}


def test_every_shipped_mapping_is_named() -> None:
    [names] = re.findall(r"A mapping is a TOML file\. (.*?) are shipped", PAGE, re.DOTALL)
    assert tuple(re.findall(r"`(\w+)`", names)) == shipped_mappings()

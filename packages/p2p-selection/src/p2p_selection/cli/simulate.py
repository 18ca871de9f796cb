"""`p2p-selection simulate`: how many of many targets at once would pull from each source."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from p2p_selection.candidates import Candidate, Target, known_load
from p2p_selection.cli._input import InputError, make_policy, read_sources
from p2p_selection.cli._output import number, print_columns, print_json
from p2p_selection.filtering import CandidateFilter
from p2p_selection.pipeline import SelectionPipeline
from p2p_selection.policies import LEAST_CAPACITY

SCHEMA = "p2p-selection.simulate/1"
_TITLES = ("SOURCE", "LOAD", "PULLS", "SHARE", "FAIR", "TIMES FAIR")
_FLEET = [Candidate("simulated", f"source-{number:02}", 0, 0.0 if number == 0 else 1.0) for number in range(16)]


def simulate(
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    pullers: int = 200,
    model: str | None = None,
    rank: int = 0,
    policy: str | None = None,
    load_weight: float | None = None,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Show how many of many targets at once would pull from each source.

    The targets see the same list and don't know of each other, as when a fleet
    scales up between two heartbeats. FAIR is a source's part of the fleet's
    free capacity, max(1 - load, 0.1). Settings that no flag gives come from the
    variables MX_P2P_SOURCE_SELECTOR, MX_P2P_LOAD_WEIGHT, MX_P2P_TOPOLOGY and
    their like. Exits 1 when there is no source.

    Args:
        file: One JSON object a line, as `p2p-registry list --json` prints; - for standard input. Ages of
            heartbeats don't count. By default 16 sources, one idle and the others full.
        pullers: How many targets.
        model: Their model; by default that of every source.
        rank: Their rank.
        policy: How to rank.
        load_weight: How much a full load costs, 0 or above.
        json_lines: Print one JSON object a source.
    """
    if pullers < 1:
        raise InputError(f"--pullers {pullers} is not allowed: at least 1 is")
    selector, config = make_policy(policy, load_weight)
    listed = _FLEET if file is None else read_sources(file, model)
    pipeline = SelectionPipeline(selector, conditions=CandidateFilter(max_age_ms=None), limit=None)
    sources = pipeline.select(listed, Target(model or "", "simulated puller", rank)).sources
    if not sources:
        sys.stderr.write(f"p2p-selection: no source of rank {rank} can be pulled from\n")
        return 1
    targets = (
        Target(model or "", f"simulated puller {place}", rank, topology=config.topology) for place in range(pullers)
    )
    pulls = Counter(selector.top(sources, target, 1)[0].key for target in targets)
    free = {source.key: max(1.0 - _counted_load(source, config.unknown_load), LEAST_CAPACITY) for source in sources}
    rows = []
    for source in sorted(sources, key=lambda source: -pulls[source.key]):
        share, fair = pulls[source.key] / pullers, free[source.key] / sum(free.values())
        load = known_load(source.source_load)
        if json_lines:
            print_json(
                SCHEMA,
                {
                    "policy": selector.name,
                    "mx_source_id": source.mx_source_id,
                    "worker_id": source.worker_id,
                    "source_load": load,
                    "pulls": pulls[source.key],
                    "share": share,
                    "fair_share": fair,
                },
            )
        rows.append(
            (
                source.worker_id,
                number(load, 2),
                str(pulls[source.key]),
                f"{share:.1%}",
                f"{fair:.1%}",
                f"{share / fair:.1f}",
            )
        )
    if not json_lines:
        print_columns(_TITLES, rows)
    return 0


def _counted_load(source: Candidate, unknown_load: float) -> float:
    load = known_load(source.source_load)
    return unknown_load if load is None else load

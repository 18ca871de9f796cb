"""`p2p-selection explain`: of each listed source, whether a target would pull from it, and why."""

import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from p2p_selection.candidates import Target
from p2p_selection.cli._input import InputError, make_policy, read_sources
from p2p_selection.cli._output import number, print_columns, print_json
from p2p_selection.explaining import Explanation
from p2p_selection.pipeline import SelectionPipeline
from p2p_selection.selection import Fate

SCHEMA = "p2p-selection.explain/1"
_TITLES = ("#", "SOURCE", "FATE", "HASH", "LOAD", "PENALTY", "SCORE", "WHY")


def explain(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    target: str,
    policy: str | None = None,
    load_weight: float | None = None,
    accelerator: str = "",
    endpoint: str | None = None,
    limit: int = 3,
    now_ms: int | None = None,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Say of each listed source whether a target would pull from it, and why.

    Settings that no flag gives come from the variables MX_P2P_SOURCE_SELECTOR,
    MX_P2P_LOAD_WEIGHT, MX_P2P_TOPOLOGY and their like. Exits 1 when the target
    could pull from none.

    Args:
        file: One JSON object a line, as `p2p-registry list --json` prints; - for standard input.
        target: The process that pulls, as MODEL,WORKER_ID,RANK.
        policy: How to rank.
        load_weight: How much a full load costs, 0 or above.
        accelerator: What the target runs on, such as cuda.
        endpoint: Where others reach the target, as host:port.
        limit: Most sources to try.
        now_ms: Unix milliseconds to judge heartbeats by; by default now. For lists that were kept.
        json_lines: Print one JSON object a source.
    """
    model_name, worker_id, rank = _parts(target)
    selector, config = make_policy(policy, load_weight)
    puller = Target(model_name, worker_id, rank, endpoint, accelerator, config.topology)
    pipeline = SelectionPipeline(
        selector, limit=limit, now_ms=lambda: time.time_ns() // 1_000_000 if now_ms is None else now_ms
    )
    rows = pipeline.explain(read_sources(file, model_name), puller)
    if json_lines:
        for row in rows:
            print_json(SCHEMA, {"policy": selector.name, **_fields(row)})
    else:
        print_columns(_TITLES, [_cells(row) for row in rows])
    return 0 if any(row.fate is not Fate.DROPPED for row in rows) else 1


def _parts(target: str) -> tuple[str, str, int]:
    parts = target.rsplit(",", 2)
    if len(parts) != 3 or not all(parts) or not parts[2].isdecimal():
        raise InputError(f"--target {target} is not MODEL,WORKER_ID,RANK, such as deepseek-ai/DeepSeek-V3,9f3c21ab,0")
    return parts[0], parts[1], int(parts[2])


def _cells(row: Explanation) -> tuple[str, ...]:
    account = row.account
    return (
        "-" if row.place is None else str(row.place),
        "-" if row.candidate is None else row.candidate.worker_id,
        row.fate,
        number(None if account is None else account.unit_hash, 5),
        number(row.load, 2),
        number(None if account is None else account.penalty, 3),
        number(None if account is None else account.score, 3),
        row.why,
    )


def _fields(row: Explanation) -> dict[str, Any]:
    candidate, account = row.candidate, row.account
    return {
        "place": row.place,
        "mx_source_id": None if candidate is None else candidate.mx_source_id,
        "worker_id": None if candidate is None else candidate.worker_id,
        "worker_rank": None if candidate is None else candidate.worker_rank,
        "fate": row.fate,
        "drop_reason": row.drop_reason,
        # A text, because a number of 64 bits loses its last digits in jq and JavaScript.
        "digest": None if account is None else str(account.digest),
        "unit_hash": None if account is None else account.unit_hash,
        "source_load": row.load,
        "counted_load": None if account is None else account.counted_load,
        "penalty": None if account is None else account.penalty,
        "tier": None if account is None else account.tier,
        "score": None if account is None else account.score,
        "why": row.why,
    }

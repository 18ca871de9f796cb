"""What an engine answered to `GET /v1/loads`, in the shapes that SGLang's releases gave it. Pure.

    0.5.23         {"timestamp": ISO, "version", "accelerator", "loads": [{"timestamp": epoch seconds, "dp_rank", …}]}
    before it      the same without the accelerator and without a time in each rank
    January 2026   with "dp_rank_count" and "aggregate" beside "loads", and fewer counts in each rank
    /get_load      [{"dp_rank", "num_reqs", "num_waiting_reqs", "num_tokens", "ts_tic"}], whose ts_tic is a counter of that
                   process and no time

The top level's timestamp says when the answer was written, not when the numbers were taken; it is ignored.
"""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from loadmonitor_worker.errors import InvalidSnapshotError, SourceUnavailableError
from loadmonitor_worker.snapshot import RankSnapshot
from loadmonitor_worker.sources._http_answer import HttpReason, check_answer
from loadmonitor_worker.sources._sglang_fields import KNOWN_KEYS, TOTALS, to_rank_snapshot

MOST_RANKS: Final = 65_535
"""As many as SGLang's shared memory can name."""

_ABSENT: Final = (
    "give the address of an SGLang engine of 2026 or later, whose HTTP server has this route, not a router's or another "
    "engine's"
)
_NEEDED: Final = tuple(key for key in KNOWN_KEYS if key != "timestamp" and key not in TOTALS)


@dataclass(frozen=True, slots=True)
class LoadsAnswer:
    """The ranks of one answer.

    Attributes:
        ranks: As many as were told, in that order; how they fit together is the reporter's business.
        dp_size: How many there must be, by the engine's own count or its highest rank.
        stamped_by_receipt: The ranks without a time of the engine's.
    """

    ranks: tuple[RankSnapshot, ...]
    dp_size: int
    stamped_by_receipt: frozenset[int]


def parse_loads(
    status: int, headers: Mapping[str, str], body: bytes, *, received_unix_ms: int, where: str, with_key: bool
) -> LoadsAnswer:
    """Return the ranks that an answer tells.

    Nothing of an answer that isn't about load is quoted: error pages may repeat the request with its key.

    Args:
        status: The HTTP status.
        headers: The HTTP headers, names in lower case.
        body: The body as received; only read with status 200.
        received_unix_ms: When it had arrived, in Unix milliseconds; stamps the ranks that carry no time.
        where: What was asked, for messages.
        with_key: Whether an API key was sent, for messages.

    Raises:
        SourceUnavailableError: There are none; `reason` is a word of HttpReason.
        InvalidSnapshotError: A value has the wrong type, or is no rank or time.
    """
    check_answer(status, headers, where=where, with_key=with_key, absent=_ABSENT)
    answer = _decode(body, where=where, content_type=headers.get("content-type", "unknown"))
    loads = _rank_list(answer, where)
    if not loads:
        raise SourceUnavailableError(HttpReason.NO_RANKS, f"{where} answered without any rank: the engine is starting")
    ranks: list[RankSnapshot] = []
    undated: set[int] = set()
    for index, load in enumerate(loads):
        told = _told(load, index)
        if missing := [key for key in _NEEDED if key not in told]:
            raise SourceUnavailableError(
                HttpReason.INCOMPLETE,
                f"{where}: rank {reprlib.repr(told.get('dp_rank', index))} doesn't tell {', '.join(missing)}, and unknown is not "
                "0: upgrade the engine, SGLang 0.5.23 tells them",
            )
        rank = to_rank_snapshot({"timestamp": received_unix_ms / 1_000} | told)
        if rank.dp_rank > MOST_RANKS:
            raise InvalidSnapshotError(
                f"dp_rank {reprlib.repr(rank.dp_rank)} can't be one of the {MOST_RANKS} ranks that an engine may have",
                field="dp_rank",
            )
        if "timestamp" not in told:
            undated.add(rank.dp_rank)
        ranks.append(rank)
    return LoadsAnswer(tuple(ranks), _dp_size(answer, ranks), frozenset(undated))


def _decode(body: bytes, *, where: str, content_type: str) -> object:
    try:
        return json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        fault = "it is nested too deeply"
    except ValueError as error:
        fault = _sentence(error)
    raise SourceUnavailableError(
        HttpReason.BAD_JSON,
        f"{where}: the body of {len(body)} bytes, {content_type[:60]!r}, is no JSON in UTF-8: {fault}",
    )


def _sentence(error: ValueError) -> str:
    # Neither of these two quotes the body; the text of other errors may.
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is wrong"
    return f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else str(error)[:80]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _rank_list(answer: object, where: str) -> list[object]:
    match answer:
        case {"loads": list() as loads}:
            return loads
        case list() if all(isinstance(load, dict) and "dp_rank" in load for load in answer):
            return answer
        case {"aggregate": _}:
            raise SourceUnavailableError(
                HttpReason.AGGREGATE_ONLY,
                f"{where} told sums over the ranks and no rank: upgrade the engine, SGLang 0.5.23 tells each rank",
            )
        case _:
            raise SourceUnavailableError(
                HttpReason.ROUTE_ABSENT,
                f"{where} answered with JSON that isn't about load: give the address of an SGLang engine",
            )


def _told(load: object, index: int) -> dict[str, object]:
    """Return what is told of a rank; null is how some releases wrote that they don't know."""
    if not isinstance(load, dict):
        raise InvalidSnapshotError(f"item {index} of the ranks is a {type(load).__name__}, where an object is expected")
    return {key: value for key, value in load.items() if value is not None}


def _dp_size(answer: object, ranks: list[RankSnapshot]) -> int:
    count = answer.get("dp_rank_count") if isinstance(answer, dict) else None
    if count is None:
        return max(rank.dp_rank for rank in ranks) + 1
    if type(count) is int and 1 <= count <= MOST_RANKS:
        return count
    raise InvalidSnapshotError(
        f"dp_rank_count is {reprlib.repr(count)}, where an integer from 1 to {MOST_RANKS} is expected",
        field="dp_rank_count",
    )

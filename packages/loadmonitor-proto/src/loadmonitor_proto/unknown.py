"""Which numbers of a rank a Worker may call unknown, and by what number it does."""

from collections.abc import Mapping
from types import MappingProxyType

from loadmonitor_proto.v1.load_monitor_pb2 import RankLoad

_NAMES = (
    "num_waiting_uncached_tokens",
    "num_used_tokens",
    "num_total_tokens",
    "token_usage",
    "gen_throughput",
    "cache_hit_rate",
)

UNKNOWABLE_FIELDS: Mapping[int, str] = MappingProxyType(
    {field.number: field.name for field in RankLoad.DESCRIPTOR.fields if field.name in _NAMES}
)
"""The fields of RankLoad that `RankLoad.unknown_field_numbers` may name: their names by their numbers, ascending.

They belong to v1, which gave them neither presence nor a value that means unknown. The others need no naming: they are absent,
or 0 or -1, when they are unknown, and `dp_rank`, `num_running_reqs` and `num_waiting_reqs` never are.
"""

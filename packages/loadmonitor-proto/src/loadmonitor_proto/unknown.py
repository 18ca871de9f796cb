"""Which numbers of a rank a Worker may call unknown, and by what number it does."""

from collections.abc import Mapping
from types import MappingProxyType

from loadmonitor_proto.v1.load_monitor_pb2 import RankLoad

UNKNOWABLE_FIELDS: Mapping[int, str] = MappingProxyType(
    {number: RankLoad.DESCRIPTOR.fields_by_number[number].name for number in (5, 6, 7, 10, 11, 12)}
)
"""The fields of RankLoad that `RankLoad.unknown_field_numbers` may name: their names by their numbers, ascending.

They belong to v1, which gave them neither presence nor a value that means unknown. The others need no naming: they are absent,
or 0 or -1, when they are unknown, and `dp_rank`, `num_running_reqs` and `num_waiting_reqs` never are.
"""

from collections.abc import Mapping
from loadmonitor_proto.v1.load_monitor_pb2 import RankLoad as RankLoad

UNKNOWABLE_FIELDS: Mapping[int, str]

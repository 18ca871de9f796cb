from collections.abc import Collection
from loadmonitor_worker.errors import ConfigError as ConfigError

def checked_ranks(dp_ranks: Collection[int]) -> frozenset[int]: ...

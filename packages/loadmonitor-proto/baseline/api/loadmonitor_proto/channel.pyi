from collections.abc import Mapping

__all__ = ['KEEPALIVE_TIME', 'KEEPALIVE_TIMEOUT', 'ACCEPTED_PING_INTERVAL', 'CLIENT_PING_INTERVAL_MS', 'Options', 'ChannelOptionError', 'client_options', 'server_options']

KEEPALIVE_TIME: str
KEEPALIVE_TIMEOUT: str
ACCEPTED_PING_INTERVAL: str
CLIENT_PING_INTERVAL_MS: int
Options = dict[str, int | str]

class ChannelOptionError(ValueError): ...

def client_options(overrides: Mapping[str, int | str] | None = None) -> Options: ...
def server_options(overrides: Mapping[str, int | str] | None = None) -> Options: ...

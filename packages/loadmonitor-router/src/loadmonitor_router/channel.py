"""The gRPC channel options of a client: exact keys, pairs that belong together, typing errors refused."""

from collections.abc import Mapping
from difflib import get_close_matches

from loadmonitor_router.errors import ConfigError

KEEPALIVE_TIME = "grpc.keepalive_time_ms"
KEEPALIVE_TIMEOUT = "grpc.keepalive_timeout_ms"
_PING_TIMEOUT = "grpc.http2.ping_timeout_ms"

_DEFAULTS: Mapping[str, int] = {
    # Receive no more than what is read: HTTP/2 windows and socket buffers would otherwise hold hundreds of old reports
    # for a router that stalls.
    "grpc.http2.lookahead_bytes": 1024,
    "grpc.http2.bdp_probe": 0,
    # A peer that died without a word, or a path that swallows packets, is noticed within time + timeout. Newer gRPC
    # waits for the ping's own time-out, 60 s by itself, whatever the keepalive time-out says: both are set alike.
    KEEPALIVE_TIME: 10_000,
    KEEPALIVE_TIMEOUT: 5_000,
    _PING_TIMEOUT: 5_000,
    "grpc.http2.max_pings_without_data": 0,  # 0: no limit; otherwise pings cease on a quiet stream
    # Each client dials for itself: no shared connection, hence no shared reconnection delay, and no proxy in between.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_http_proxy": 0,
    "grpc.enable_retries": 0,  # the client itself dials again, and must know when
}
_INTEGER_KEYS = frozenset(
    {
        *(_DEFAULTS.keys() - {_PING_TIMEOUT}),
        "grpc.keepalive_permit_without_calls",
        "grpc.max_receive_message_length",
        "grpc.max_send_message_length",
        "grpc.dns_min_time_between_resolutions_ms",
        "grpc.experimental.tcp_read_chunk_size",
    }
)
_TEXT_KEYS = frozenset({"grpc.default_authority", "grpc.primary_user_agent"})


def channel_options(overrides: Mapping[str, int | str] | None = None) -> dict[str, int | str]:
    """Return the options of a client's channel by key; `tuple(options.items())` is what gRPC takes.

    gRPC takes any key and ignores those it doesn't know, so a mistyped one goes unnoticed until a router hangs on a dead
    worker; here it is refused.

    Args:
        overrides: Options to add or to change. `grpc.keepalive_time_ms` and `grpc.keepalive_timeout_ms` only together,
            and a Worker must accept pings at half that time (`grpc.http2.min_ping_interval_without_data_ms`).

    Raises:
        ConfigError: A key isn't known, a value has the wrong type, or one half of a pair is missing.
    """
    overrides = overrides or {}
    for key, value in overrides.items():
        if key not in _INTEGER_KEYS | _TEXT_KEYS:
            close = get_close_matches(key, _INTEGER_KEYS | _TEXT_KEYS, n=1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"allowed are {', '.join(sorted(_INTEGER_KEYS | _TEXT_KEYS))}"
            )
            raise ConfigError(f"channel option {key!r} is not known: {hint}")
        expected = int if key in _INTEGER_KEYS else str
        if type(value) is not expected:
            raise ConfigError(f"channel option {key}={value!r} is not allowed: {expected.__name__} is")
    if (KEEPALIVE_TIME in overrides) != (KEEPALIVE_TIMEOUT in overrides):
        raise ConfigError(f"{KEEPALIVE_TIME} and {KEEPALIVE_TIMEOUT} belong together: give both or neither")
    options = {**_DEFAULTS, **overrides}
    return {**options, _PING_TIMEOUT: options[KEEPALIVE_TIMEOUT]}

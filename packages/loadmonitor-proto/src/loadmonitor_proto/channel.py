"""gRPC options of both ends of the stream: exact keys, pairs that belong together, typing errors refused.

gRPC takes any key and ignores those it doesn't know, so a mistyped one goes unnoticed until a router hangs on a dead worker,
or a worker cuts off a router that pings. Here it is refused. This module needs no grpcio.
"""

from collections.abc import Mapping
from difflib import get_close_matches

__all__ = [
    "ACCEPTED_PING_INTERVAL",
    "CLIENT_PING_INTERVAL_MS",
    "KEEPALIVE_TIME",
    "KEEPALIVE_TIMEOUT",
    "ChannelOptionError",
    "Options",
    "client_options",
    "server_options",
]

KEEPALIVE_TIME = "grpc.keepalive_time_ms"
KEEPALIVE_TIMEOUT = "grpc.keepalive_timeout_ms"
ACCEPTED_PING_INTERVAL = "grpc.http2.min_ping_interval_without_data_ms"
CLIENT_PING_INTERVAL_MS = 10_000
"""How often a client pings by default; a server must accept pings at no more than half of this."""

_PING_TIMEOUT = "grpc.http2.ping_timeout_ms"
_KEEPALIVE: Mapping[str, int] = {
    # A peer that died without a word, or a path that swallows packets, is noticed within time + timeout. Newer gRPC
    # waits for the ping's own time-out, 60 s by itself, whatever the keepalive time-out says: both are set alike.
    KEEPALIVE_TIME: CLIENT_PING_INTERVAL_MS,
    KEEPALIVE_TIMEOUT: 5_000,
    "grpc.http2.max_pings_without_data": 0,  # 0: no limit; otherwise pings cease on a quiet stream
}
_CLIENT: Mapping[str, int] = {
    **_KEEPALIVE,
    # Receive no more than what is read: HTTP/2 windows and socket buffers would otherwise hold hundreds of old reports
    # for a router that stalls.
    "grpc.http2.lookahead_bytes": 1024,
    "grpc.http2.bdp_probe": 0,
    # Each client dials for itself: no shared connection, hence no shared reconnection delay, and no proxy in between.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_http_proxy": 0,
    "grpc.enable_retries": 0,  # the client itself dials again, and must know when
}
_SERVER: Mapping[str, int] = {
    **_KEEPALIVE,
    # gRPC's default lets a second server bind the same port, and the kernel then deals clients out to both.
    "grpc.so_reuseport": 0,
    # gRPC's default takes a ping each 10 s on a quiet stream for an attack. The similar key with "recv" in it, often
    # quoted, isn't one that gRPC knows.
    ACCEPTED_PING_INTERVAL: CLIENT_PING_INTERVAL_MS // 2,
    # A Router's frames are a few dozen bytes.
    "grpc.max_receive_message_length": 65_536,
}
_MESSAGE_LENGTHS = frozenset({"grpc.max_receive_message_length", "grpc.max_send_message_length"})
_CLIENT_INTEGERS = (
    frozenset(_CLIENT)
    | _MESSAGE_LENGTHS
    | {
        "grpc.keepalive_permit_without_calls",
        "grpc.dns_min_time_between_resolutions_ms",
        "grpc.experimental.tcp_read_chunk_size",
    }
)
_CLIENT_TEXTS = frozenset({"grpc.default_authority", "grpc.primary_user_agent", "grpc.ssl_target_name_override"})
_SERVER_INTEGERS = (
    frozenset(_SERVER)
    | _MESSAGE_LENGTHS
    | {
        "grpc.max_connection_age_ms",
        "grpc.max_connection_age_grace_ms",
        "grpc.max_connection_idle_ms",
        "grpc.max_concurrent_streams",
    }
)

Options = dict[str, int | str]


class ChannelOptionError(ValueError):
    """An option isn't known, has the wrong type or value, or lacks its other half.

    What to do: give the key as the message spells it, or both halves of the pair.
    """


def client_options(overrides: Mapping[str, int | str] | None = None) -> Options:
    """Return the options of a Router's channel by key; `tuple(options.items())` is what gRPC takes.

    Args:
        overrides: Options to add or to change; keepalive time and time-out only together. Pings closer than twice what
            the Worker accepts (5 s by `server_options`) get the connection cut.

    Raises:
        ChannelOptionError: A key isn't known, a value has the wrong type, or one half of a pair is missing.
    """
    return _checked(_CLIENT, overrides or {}, integers=_CLIENT_INTEGERS, texts=_CLIENT_TEXTS)


def server_options(overrides: Mapping[str, int | str] | None = None) -> Options:
    """Return the options of a Worker's server by key.

    Args:
        overrides: Options to add or to change; keepalive time and time-out only together.

    Raises:
        ChannelOptionError: As for `client_options`; or the accepted ping interval is more than half of what clients ping
            at, so that jitter alone would get them cut off.
    """
    options = _checked(_SERVER, overrides or {}, integers=_SERVER_INTEGERS, texts=frozenset())
    accepted_ms = options[ACCEPTED_PING_INTERVAL]
    if not 0 < int(accepted_ms) <= CLIENT_PING_INTERVAL_MS // 2:
        raise ChannelOptionError(
            f"{ACCEPTED_PING_INTERVAL}={accepted_ms} is not allowed: 1 to {CLIENT_PING_INTERVAL_MS // 2} is, half of the "
            f"{CLIENT_PING_INTERVAL_MS} ms at which clients ping"
        )
    return options


def _checked(
    defaults: Mapping[str, int], overrides: Mapping[str, int | str], *, integers: frozenset[str], texts: frozenset[str]
) -> Options:
    for key, value in overrides.items():
        if key not in integers | texts:
            close = get_close_matches(key, integers | texts, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(sorted(integers | texts))}"
            raise ChannelOptionError(f"channel option {key!r} is not known: {hint}")
        expected = int if key in integers else str
        if type(value) is not expected:
            raise ChannelOptionError(f"channel option {key}={value!r} is not allowed: {expected.__name__} is")
    if (KEEPALIVE_TIME in overrides) != (KEEPALIVE_TIMEOUT in overrides):
        raise ChannelOptionError(f"{KEEPALIVE_TIME} and {KEEPALIVE_TIMEOUT} belong together: give both or neither")
    options: Options = {**defaults, **overrides}
    return {**options, _PING_TIMEOUT: options[KEEPALIVE_TIMEOUT]}

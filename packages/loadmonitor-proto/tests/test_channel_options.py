"""Options of both ends: keys that gRPC knows, pairs that fit, typing errors refused."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from loadmonitor_proto.channel import ChannelOptionError, client_options, server_options

CLIENT_EXTRA: dict[str, int | str] = {
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.primary_user_agent": "x",
    "grpc.default_authority": "x",
    "grpc.ssl_target_name_override": "x",
    "grpc.max_receive_message_length": 1,
    "grpc.max_send_message_length": 1,
    "grpc.dns_min_time_between_resolutions_ms": 1,
    "grpc.experimental.tcp_read_chunk_size": 1,
}
SERVER_EXTRA: dict[str, int | str] = {
    "grpc.max_connection_age_ms": 1,
    "grpc.max_connection_age_grace_ms": 1,
    "grpc.max_connection_idle_ms": 1,
    "grpc.max_concurrent_streams": 1,
    "grpc.max_send_message_length": 1,
}


def test_every_option_is_one_that_grpc_knows() -> None:
    library = find_spec("grpc._cython.cygrpc")
    assert library is not None
    assert library.origin is not None
    known = Path(library.origin).read_bytes()
    for key in {**client_options(CLIENT_EXTRA), **server_options(SERVER_EXTRA)}:
        assert key.encode() in known, key
    assert b"grpc.http2.min_recv_ping_interval_without_data_ms" not in known


def test_buffered_reports_are_kept_few_by_default() -> None:
    options = client_options()
    assert options["grpc.http2.lookahead_bytes"] == 1_024
    assert options["grpc.http2.bdp_probe"] == 0


def test_a_server_accepts_pings_at_half_the_interval_at_which_clients_send_them() -> None:
    accepted = server_options()["grpc.http2.min_ping_interval_without_data_ms"]
    assert accepted == 5_000
    assert client_options()["grpc.keepalive_time_ms"] == 10_000


@pytest.mark.parametrize("options", [client_options, server_options])
def test_a_ping_is_never_waited_for_longer_than_the_keepalive_timeout(options: Any) -> None:
    chosen = options({"grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 7_000})
    assert chosen["grpc.keepalive_time_ms"] == 30_000
    assert chosen["grpc.keepalive_timeout_ms"] == chosen["grpc.http2.ping_timeout_ms"] == 7_000


@pytest.mark.parametrize("options", [client_options, server_options])
@pytest.mark.parametrize(
    ("overrides", "fault"),
    [
        ({"grpc.keepalive_time": 1}, "did you mean 'grpc.keepalive_time"),
        ({"GRPC_ARG_KEEPALIVE_TIME_MS": 1}, "is not known"),
        ({"grpc.http2.min_recv_ping_interval_without_data_ms": 1}, "is not known"),
        ({"grpc.keepalive_time_ms": 1_000}, "belong together"),
        ({"grpc.keepalive_timeout_ms": 1_000}, "belong together"),
        ({"grpc.http2.ping_timeout_ms": 1}, "is not known"),
        ({"grpc.http2.max_pings_without_data": "0"}, "int is"),
        ({"grpc.http2.max_pings_without_data": False}, "int is"),
    ],
)
def test_a_mistaken_option_is_refused(options: Any, overrides: dict[str, Any], fault: str) -> None:
    with pytest.raises(ChannelOptionError, match=fault):
        options(overrides)


@pytest.mark.parametrize("accepted_ms", [10_000, 5_001, 0, -1])
def test_accepted_and_sent_ping_intervals_that_do_not_fit_are_refused(accepted_ms: int) -> None:
    with pytest.raises(ChannelOptionError, match="half of the 10000 ms at which clients ping"):
        server_options({"grpc.http2.min_ping_interval_without_data_ms": accepted_ms})


def test_each_side_refuses_what_belongs_to_the_other() -> None:
    with pytest.raises(ChannelOptionError, match="is not known"):
        client_options({"grpc.so_reuseport": 0})
    with pytest.raises(ChannelOptionError, match="is not known"):
        server_options({"grpc.default_authority": "x"})


def test_the_builder_needs_no_grpc() -> None:
    program = (
        "import sys, loadmonitor_proto.channel; assert not [name for name in sys.modules if name.startswith('grpc')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)

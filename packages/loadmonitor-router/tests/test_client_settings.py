"""What a client may be told, and what a mistake is answered with."""

from typing import Any

import pytest

from loadmonitor_router import ClientConfig, ConfigError, MonitorClient, normalize_address


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("10.0.0.1:50061", "10.0.0.1:50061"),
        ("Worker-3.Pool.svc:50061", "worker-3.pool.svc:50061"),
        ("localhost:0080", "localhost:80"),
        ("[2001:DB8:0::0001]:50061", "[2001:db8::1]:50061"),
        ("[fe80::1%eth0]:1", "[fe80::1%eth0]:1"),
    ],
)
def test_equal_addresses_have_one_form(given: str, normal: str) -> None:
    assert normalize_address(given) == normal
    assert normalize_address(normal) == normal


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "the port is missing"),
        ("worker", "the port is missing"),
        (":50061", "the host is missing"),
        ("worker:", "port '' is not between 1 and 65535"),
        ("worker:0", "port '0' is not"),
        ("worker:65536", "port '65536' is not"),
        ("worker:http", "port 'http' is not"),
        ("worker:-1", "port '-1' is not"),
        ("worker:٣", "port '٣' is not"),
        ("http://worker:50061", "leave out the scheme"),
        ("worker:50061/", "leave out the scheme and the path"),
        ("2001:db8::1:50061", "put an IPv6 address in brackets"),
        ("[worker]:50061", "worker"),
        ("[::1]", "port"),
        ("wor ker:50061", "'wor ker' is not a host name"),
        ("worker@3:50061", "'worker@3' is not a host name"),
    ],
)
def test_an_address_that_can_not_be_dialled_is_refused_with_its_fault(address: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        MonitorClient(address, router_id="r")
    assert repr(address.replace("worker@", "***@")) in str(raised.value)  # a user's name may be a secret too
    assert why in str(raised.value)
    assert "allowed are host:port and [ipv6]:port" in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("report_interval_ms", 0),
        ("report_interval_ms", -1),
        ("report_interval_ms", 2**63),
        ("lease_ttl_ms", 0),
        ("lease_ttl_ms", True),
        ("connect_timeout_ms", 1.5),
        ("ack_timeout_ms", "2000"),
        ("max_unacked_reports", 0),
        ("max_unacked_reports", 2**32),
    ],
)
def test_a_setting_out_of_range_is_named_with_what_is_allowed(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{setting}={value!r} is not allowed: an integer from 1 to"):
        ClientConfig(**{"router_id": "r", setting: value})


@pytest.mark.parametrize("router_id", ["", " ", "\t\n"])
def test_a_blank_router_id_is_refused(router_id: str) -> None:
    with pytest.raises(ConfigError, match="is blank: give a name that no other router uses"):
        ClientConfig(router_id=router_id)


def test_a_mistaken_channel_option_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'grpc\.keepalive_time"):
        MonitorClient("w:1", router_id="r", options={"grpc.keepalive_time": 1})

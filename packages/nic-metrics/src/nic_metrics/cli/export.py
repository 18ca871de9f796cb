"""`nic-metrics export`: how busy every port is, for Prometheus."""

import sys
from pathlib import Path
from threading import Event

from nic_metrics.cli._ports import DEFAULT_SYSFS, choose_ports, class_directory
from nic_metrics.cli._signals import ended_by_sigterm
from nic_metrics.errors import NicMetricsError
from nic_metrics.prometheus import make_registry


class ListenError(NicMetricsError):
    """This is no address to listen on."""


def run_export(
    *,
    listen: str = "127.0.0.1:9465",
    device: tuple[str, ...] = (),
    root: Path = DEFAULT_SYSFS,
) -> int:
    """Export how busy every port is, at /metrics, until stopped.

    Names end as node_exporter's do: nic_metrics_port_data_received_bytes_total
    and so on. What isn't known has no series; nic_metrics_port_unknown tells
    why. Exits 1 when the address is taken, or there is no device and none was
    named.

    Args:
        listen: Where to serve, host:port or [ipv6]:port; port 0 takes any free one.
        device: Export this device only, or one of its ports, such as mlx5_0:1; may be repeated. Nothing of any other device is read.
        root: What stands for /sys: the host's, mounted elsewhere, or a tree that was captured.
    """
    host, _, port = listen.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise ListenError(f"--listen {listen} is not host:port or [ipv6]:port, such as 127.0.0.1:9465")
    ports = choose_ports(root, device)
    if not ports:
        return 1
    registry = make_registry(ports, root=class_directory(root))
    from prometheus_client import start_http_server  # noqa: PLC0415 - make_registry has looked whether it's there

    try:
        server, _thread = start_http_server(int(port), host.strip("[]"), registry)
    except OSError as error:
        sys.stderr.write(f"nic-metrics: can't listen on {listen}: {error.strerror}\n")
        return 1
    with ended_by_sigterm():
        sys.stdout.write(f"listening on {host}:{server.server_port}\n")
        sys.stdout.flush()
        Event().wait()
    return 0

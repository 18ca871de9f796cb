"""`nic-metrics watch`: how busy every port is, again and again."""

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nic_metrics.cli._output import print_columns
from nic_metrics.cli._ports import DEFAULT_SYSFS, check_interval, choose_ports, class_directory, rounds
from nic_metrics.cli._signals import ended_by_sigterm
from nic_metrics.cli._topology import nearest_gpus, topology_below
from nic_metrics.cli._uses import TABLE_TITLES, UseLines, print_uses_json, table_rows
from nic_metrics.ports import read_port
from nic_metrics.sampler import PortSampler

SCHEMA = "nic-metrics.watch/1"
# To the upper left, and nothing below: what is drawn next stands where this stood.
_REDRAW = "\x1b[H\x1b[J"


def run_watch(
    *,
    dmon: bool = False,
    interval: float = 1.0,
    device: tuple[str, ...] = (),
    root: Path = DEFAULT_SYSFS,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Show how busy every port is, until stopped.

    On a terminal a table that is drawn anew, elsewhere and with --dmon a line
    for each port at each interval, in columns of fixed width. What isn't known
    shows as "-" with the reason. A device that comes later is seen when it was
    named. GPU has the numbers of the GPUs that a device is nearest to, in order
    of PCI addresses; with --device that isn't looked at. Exits 1 when there is
    no device and none was named.

    Args:
        dmon: Print lines on a terminal too.
        interval: Time between two samples, in seconds, 0.1 or more.
        device: Look at this device only, or one of its ports, such as mlx5_0:1; may be repeated. Nothing of any other device is read.
        root: What stands for /sys: the host's, mounted elsewhere, or a tree that was captured.
        json_lines: Print one JSON object a port and sample.
    """
    check_interval(interval)
    ports, directory = choose_ports(root, device), class_directory(root)
    if not ports:
        return 1
    lines, table = UseLines(ports), sys.stdout.isatty() and not dmon and not json_lines
    # How near a named device is depends on the others, of which nothing is read.
    gpus = nearest_gpus(topology_below(root)) if table and not device else {}
    with PortSampler(ports, root=directory, min_window_seconds=interval / 2) as sampler, ended_by_sigterm():
        for uses in rounds(sampler.sample, interval):
            if json_lines:
                print_uses_json(SCHEMA, time.time(), uses)
            elif table:
                sys.stdout.write(_REDRAW)
                print_columns(
                    TABLE_TITLES, table_rows(uses, {port: read_port(port, directory) for port in ports}, gpus)
                )
                sys.stdout.flush()
            else:
                lines.print(time.time(), uses)
    return 0

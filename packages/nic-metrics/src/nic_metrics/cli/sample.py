"""`nic-metrics sample`: a set number of samples of every port."""

import time
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from nic_metrics.cli._ports import DEFAULT_SYSFS, check_interval, choose_ports, class_directory, rounds
from nic_metrics.cli._uses import UseLines, print_uses_json
from nic_metrics.sampler import PortSampler

SCHEMA = "nic-metrics.sample/1"


def run_sample(
    *,
    interval: float = 1.0,
    count: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 1,
    device: tuple[str, ...] = (),
    root: Path = DEFAULT_SYSFS,
    json_lines: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Print a set number of samples of every port, a line for each port.

    The counters are read once more, at the start, so COUNT samples take COUNT
    times INTERVAL seconds. What isn't known shows as "-" (null in JSON) with
    the reason. Exits 1 when no sample of any port told how busy it was.

    Args:
        interval: Time over which a sample measures, in seconds, 0.1 or more.
        count: How many samples.
        device: Look at this device only, or one of its ports, such as mlx5_0:1; may be repeated. Nothing of any other device is read.
        root: What stands for /sys: the host's, mounted elsewhere, or a tree that was captured.
        json_lines: Print one JSON object a port and sample.
    """
    check_interval(interval)
    ports = choose_ports(root, device)
    lines, known = UseLines(ports), False
    with PortSampler(ports, root=class_directory(root), min_window_seconds=interval / 2) as sampler:
        for uses in islice(rounds(sampler.sample, interval), count if ports else 0):
            known = known or any(use.value is not None for use in uses.values())
            if json_lines:
                print_uses_json(SCHEMA, time.time(), uses)
            else:
                lines.print(time.time(), uses)
    return 0 if known else 1

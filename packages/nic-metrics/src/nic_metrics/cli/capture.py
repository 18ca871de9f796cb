"""`nic-metrics capture`: what this machine's sysfs says of its NICs, for others to replay."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from nic_metrics.capture import capture_tree
from nic_metrics.cli._output import print_json
from nic_metrics.cli._ports import DEFAULT_SYSFS

SCHEMA = "nic-metrics.capture/1"


def run_capture(
    directory: Path,
    /,
    *,
    device: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    root: Path = DEFAULT_SYSFS,
    json_lines: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Copy what sysfs says of the NICs and where they and the GPUs sit.

    Every command reads the copy with --root DIRECTORY. GIDs, GUIDs, LIDs and
    what the node is called are replaced, the same by the same everywhere.
    Counters stand still in it. Exits 1 when there is no device to copy.

    Args:
        directory: Where to write: a directory that is empty or doesn't exist.
        device: Copy this device only; may be given several times. Nothing of any other is read.
        root: What stands for /sys: the host's, or mounted elsewhere.
        json_lines: Print one JSON object.
    """
    captured = capture_tree(directory, sys_root=root, devices=set(device) or None)
    if json_lines:
        fields = {
            "directory": str(captured.directory),
            "devices": captured.devices,
            "gpus": captured.gpus,
            "files": captured.files,
            "replaced": captured.replaced,
            "unreadable": [{"file": file, "error": error} for file, error in captured.unreadable],
        }
        print_json(SCHEMA, fields)
    else:
        sys.stdout.write(
            f"{len(captured.devices)} devices and {captured.gpus} GPUs in {captured.files} files below {captured.directory}, "
            f"{captured.replaced} addresses replaced\n"
        )
        for file, error in captured.unreadable:
            sys.stdout.write(f"not captured: {file}: {error}\n")
    return 0 if captured.devices else 1

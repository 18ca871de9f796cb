"""The commands of `nic-metrics`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from nic_metrics.errors import MissingExtraError, NicMetricsError

app: App = App(
    name="nic-metrics",
    help="Say how busy a machine's RDMA NICs are, or why that is unknown.",
    version=version("nic-metrics"),
    help_format="markdown",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
)
# One module for each command: its name with underscores, its function `run_` and the same.
for _name, _help in (
    ("list", "List RDMA devices and ports, and which of them is nearest to each GPU."),
    ("watch", "Show how busy every port is, again and again."),
    ("sample", "Print a set number of samples of every port."),
    ("export", "Export how busy every port is to Prometheus."),
    ("capture", "Copy what this machine's sysfs says of its NICs, so that others can replay it with --root."),
    ("serving-load", "Print the serving load that an engine's metrics tell."),
    ("load", "Print the one load that a weight source would publish, and where it came from."),
):
    _word = _name.replace("-", "_")
    app.command(f"nic_metrics.cli.{_word}:run_{_word}", name=_name, help=_help)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments)
    except (CycloptsError, NicMetricsError) as error:
        # By hand, because a terminal's boxes and line breaks hinder whoever reads this in a log.
        sys.stderr.write(f"nic-metrics: {error}\n")
        return 1 if isinstance(error, MissingExtraError) else 2
    return code if isinstance(code, int) else 0

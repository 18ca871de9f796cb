"""The commands of `nic-metrics`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from nic_metrics.errors import MissingExtraError, NicMetricsError


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="nic-metrics",
    help="Say how busy a machine's RDMA NICs are, or why that is unknown.",
    version=lambda: version("nic-metrics"),
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
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


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(nic-metrics completion bash)"`.

    Args:
        shell: The shell that reads it.
    """
    sys.stdout.write(app.generate_completion(shell=shell))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    An error is one line on stderr: a terminal's boxes and line breaks would hinder whoever reads it in a log.
    """
    if arguments and not arguments[0].startswith("-") and arguments[0] in app:
        # The list of commands is told without importing any, or what markup needs; the help of one tells all.
        app.help_format = "markdown"
        app[arguments[0]].help = None
    try:
        code = app(arguments)
    except (CycloptsError, NicMetricsError) as error:
        sys.stderr.write(f"nic-metrics: {' '.join(str(error).split())}\n")
        return 1 if isinstance(error, MissingExtraError) else 2
    return code if isinstance(code, int) else 0

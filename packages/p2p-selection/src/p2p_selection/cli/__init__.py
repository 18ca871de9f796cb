"""The commands of `p2p-selection`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from p2p_selection.errors import SelectionError

app: App = App(
    name="p2p-selection",
    help="Say which peers a process would pull model weights from, and why.",
    version=version("p2p-selection"),
    help_format="markdown",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
)
for _name, _help in (
    ("explain", "Say of each listed source whether one target would pull from it, and why."),
    ("simulate", "Show how many of many targets at once would pull from each source."),
):
    app.command(f"p2p_selection.cli.{_name}:{_name}", name=_name, help=_help)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments)
    except (CycloptsError, SelectionError) as error:
        # By hand, because a terminal's boxes and line breaks hinder whoever reads this in a log.
        message = str(error).replace("weight=", "--load-weight ").replace("limit=", "--limit ")
        sys.stderr.write(f"p2p-selection: {message}\n")
        return 2
    return code if isinstance(code, int) else 0

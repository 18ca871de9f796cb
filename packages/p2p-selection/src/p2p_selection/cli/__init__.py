"""The commands of `p2p-selection`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from p2p_selection.errors import SelectionError


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="p2p-selection",
    help="Say which peers a process would pull model weights from, and why.",
    version=lambda: version("p2p-selection"),
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
)
for _name, _help in (
    ("explain", "Say of each listed source whether one target would pull from it, and why."),
    ("simulate", "Show how many of many targets at once would pull from each source."),
):
    app.command(f"p2p_selection.cli.{_name}:{_name}", name=_name, help=_help)


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(p2p-selection completion bash)"`.

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
    except (CycloptsError, SelectionError) as error:
        message = str(error).replace("weight=", "--load-weight ").replace("limit=", "--limit ")
        sys.stderr.write(f"p2p-selection: {' '.join(message.split())}\n")
        return 2
    return code if isinstance(code, int) else 0

"""The commands of `router-lifecycle`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="router-lifecycle",
    help="Register inference workers at an SGLang router or SMG, remove them, and know when either is done.",
    version=lambda: version("router-lifecycle"),
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
)
for _module, _name, _help in (
    ("_list:list_workers", "list", "Print the workers that a router lists."),
    ("_change:add", "add", "Register a worker and return when it is routable; prints its handle."),
    ("_change:remove", "remove", "Remove a worker and return when it is gone for good; prints the removal's handle."),
    ("_change:replace", "replace", "Put one worker in the place of another; prints the new one's handle."),
    ("_wait:wait", "wait", "Go on with a handle that add, remove or replace printed."),
    ("_doctor:doctor", "doctor", "Print what a router speaks, what that offers, and what was left behind there."),
):
    app.command(f"router_lifecycle.cli.{_module}", name=_name, help=_help)


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(router-lifecycle completion bash)"`.

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
    except CycloptsError as error:
        sys.stderr.write(f"router-lifecycle: {' '.join(str(error).split())}\n")
        return 2
    return code if isinstance(code, int) else 0

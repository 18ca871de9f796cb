"""The commands of `router-lifecycle`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

app: App = App(
    name="router-lifecycle",
    help="Register inference workers at an SGLang router or SMG, remove them, and know when either is done.",
    version=version("router-lifecycle"),
    help_format="markdown",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
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


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments)
    except CycloptsError as error:
        # By hand, because a terminal's boxes and line breaks hinder whoever reads this in a log.
        sys.stderr.write(f"router-lifecycle: {' '.join(str(error).split())}\n")
        return 2
    return code if isinstance(code, int) else 0

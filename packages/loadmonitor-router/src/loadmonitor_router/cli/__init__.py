"""The commands of `loadmonitor`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from loadmonitor_router.cli._flags import in_flags
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="loadmonitor",
    help="Watch the load that inference engines report.",
    version=lambda: version("loadmonitor-router"),
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
)
for _name, _help in (
    ("watch", "Show the load of Workers, live."),
    ("export", "Export the load of Workers to Prometheus."),
    ("explain", "Say why a Worker counts in a router's decisions, or doesn't."),
    ("conformance", "Judge a Worker by the clauses of the stream."),
    ("dashboard", "Print the Grafana dashboard of the exported metrics, or the alert rules."),
    ("demo", "Watch three Workers made up on this machine for about 20 seconds."),
):
    app.command(f"loadmonitor_router.cli.{_name}:{_name}", name=_name, help=_help)


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(loadmonitor completion bash)"`.

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
    except (CycloptsError, ConfigError) as error:
        sys.stderr.write(f"loadmonitor: {in_flags(str(error))}\n")
        return 2
    except LoadMonitorRouterError as error:
        sys.stderr.write(f"loadmonitor: {in_flags(str(error))}\n")
        return 1
    return code if isinstance(code, int) else 0

"""The commands of `loadmonitor`.

A command's module is imported for its help and therefore imports nothing heavy; what the command needs, it imports when
it is called.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from loadmonitor_router.cli._flags import in_flags
from loadmonitor_router.cli.conformance import conformance
from loadmonitor_router.cli.dashboard import dashboard
from loadmonitor_router.cli.demo import demo
from loadmonitor_router.cli.explain import explain
from loadmonitor_router.cli.export import export
from loadmonitor_router.cli.watch import watch
from loadmonitor_router.errors import ConfigError, LoadMonitorRouterError

app: App = App(
    name="loadmonitor",
    help="Watch the load that inference engines report.",
    version=lambda: version("loadmonitor-router"),
    help_format="plaintext",
    # Frames are for terminals.
    help_formatter="default" if sys.stdout.isatty() else "plain",
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
    suppress_keyboard_interrupt=False,
)
for _command in (watch, export, explain, conformance, dashboard, demo):
    app.command(_command)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments)
    except (CycloptsError, ConfigError) as error:
        sys.stderr.write(f"loadmonitor: {in_flags(str(error))}\n")
        return 2
    except LoadMonitorRouterError as error:
        sys.stderr.write(f"loadmonitor: {in_flags(str(error))}\n")
        return 1
    return code if isinstance(code, int) else 0

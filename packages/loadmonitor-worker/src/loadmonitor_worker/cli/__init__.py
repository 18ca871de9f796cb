"""The commands of `loadmonitor-worker`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from loadmonitor_worker.cli._flags import in_flags
from loadmonitor_worker.errors import LoadReporterError, MissingSettingError

app: App = App(
    name="loadmonitor-worker",
    help="Report an engine's scheduler load to the routers that use it.",
    version=version("loadmonitor-worker"),
    help_format="markdown",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
)
for _name, _help in (
    ("serve", "Report the load of an engine on this machine until stopped."),
    ("drain", "Have a running `serve` tell routers DRAINING, and wait until its engine has nothing to do."),
    ("config", "Print the settings that `serve` would have here, and where each comes from."),
    ("check", "Say hop by hop what works between an engine and its reports, and what to change."),
    ("simulate", "Publish a made-up load in SGLang's shared-memory format until stopped."),
):
    app.command(f"loadmonitor_worker.cli.{_name}:{_name}", name=_name, help=_help)

_manifest = App(name="manifest", help="Print Kubernetes objects, for `kubectl apply -f -`.")
for _name, _help in (
    ("sidecar", "A Deployment of an engine with its sidecar, and the Service by which routers find it."),
    ("component", "A Kustomize component that gives a Deployment you have a sidecar."),
    ("router", "A Deployment of `loadmonitor export` that finds the Workers, and the Role that lets it."),
    ("monitor", "A PodMonitor, by which the Prometheus operator scrapes sidecars and exporter."),
):
    _manifest.command(f"loadmonitor_worker.cli.manifest:{_name}", name=_name, help=_help)
app.command(_manifest)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    _let_command_speak(arguments)
    try:
        code = app(arguments)
    except CycloptsError as error:
        # By hand, because a terminal's boxes and line breaks hinder whoever reads this in a log.
        sys.stderr.write(f"loadmonitor-worker: {error}\n")
        return 2
    except LoadReporterError as error:
        sys.stderr.write(f"loadmonitor-worker: {in_flags(str(error))}\n")
        return 2 if isinstance(error, MissingSettingError) else 1
    return code if isinstance(code, int) else 0


def _let_command_speak(arguments: Sequence[str]) -> None:
    """Give the command that is called its own docstring for help, in place of the line that stands for it in the list."""
    command = app
    for name in arguments:
        if name.startswith("-") or name not in command:
            break
        command = command[name]
    if command.default_command is not None:
        command.help = None

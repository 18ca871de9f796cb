"""The commands of `loadmonitor-worker`; each is imported when it is called."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from loadmonitor_worker.cli._flags import in_flags
from loadmonitor_worker.errors import ConfigError, LoadReporterError


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="loadmonitor-worker",
    help="Report an engine's scheduler load to the routers that use it.",
    version=lambda: version("loadmonitor-worker"),
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=_shown_default),
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


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(loadmonitor-worker completion bash)"`.

    Args:
        shell: The shell that reads it.
    """
    sys.stdout.write(app.generate_completion(shell=shell))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    An error is one line on stderr: a terminal's boxes and line breaks would hinder whoever reads it in a log.
    """
    command = app
    for word in arguments:
        if word.startswith("-") or word not in command:
            break
        # The list of commands is told without importing any, or what markup needs; the help of one tells all.
        app.help_format = "markdown"
        command = command[word]
        if command is not _manifest:
            command.help = None
    try:
        code = app(arguments)
    except CycloptsError as error:
        sys.stderr.write(f"loadmonitor-worker: {' '.join(str(error).split())}\n")
        return 2
    except LoadReporterError as error:
        sys.stderr.write(f"loadmonitor-worker: {in_flags(str(error))}\n")
        return 2 if isinstance(error, ConfigError) else 1
    return code if isinstance(code, int) else 0

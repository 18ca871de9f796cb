"""The commands of `p2p-registry`; each is imported when it is called."""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from cyclopts import App, CycloptsError, Parameter

from p2p_registry.errors import (
    CredentialFileError,
    InvalidBackendUrlError,
    InvalidIdentityError,
    P2PRegistryError,
    SettingError,
)


def _shown_default(value: object) -> object | None:
    """Return what help says is the default: nothing of a switch that is off, or of a text or list that is empty."""
    return None if value is False or value in ((), "") else value


app: App = App(
    name="p2p-registry",
    help="Serve, list and publish the metadata of weight sources.",
    version=lambda: version("p2p-registry"),
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
    ("serve", "Serve the metadata of weight sources."),
    ("list", "List the sources that a registry knows."),
    ("publish", "Publish one source and keep it alive until interrupted."),
    ("manifest", "Print what a Kubernetes cluster needs for a registry, for kubectl apply -f -."),
):
    _word = _name.replace("-", "_")
    app.command(f"p2p_registry.cli.{_word}:run_{_word}", name=_name, help=_help)


@app.command(help="Print the script by which a shell completes this command.")
def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the script by which a shell completes this command.

    For bash, in its start-up file: `eval "$(p2p-registry completion bash)"`.

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
    except (CycloptsError, P2PRegistryError) as error:
        sys.stderr.write(f"p2p-registry: {' '.join(_as_flags(str(error)).split())}\n")
        usage = CycloptsError | CredentialFileError | InvalidBackendUrlError | InvalidIdentityError | SettingError
        return 2 if isinstance(error, usage) else 1
    return code if isinstance(code, int) else 0


def _as_flags(message: str) -> str:
    """Call settings what they are called here: `tls_cert_file=x` is `--tls-cert-file x`."""

    def flag(setting: re.Match[str]) -> str:
        return f"--{setting[1].replace('_', '-')}{' ' if setting[2] else ''}"

    words = "extra|framework|interval|listen|name|namespace|rank|registry|replicas|timeout|topology"
    beginnings = "auth|heartbeat|http|max|tls|token"
    names = rf"(?:{words})(?==)|(?:{beginnings})(?:_[a-z]+)+|source_type|[a-z]+_parallel_size"
    return re.sub(rf"(?<![\w/.-])({names})(=?)", flag, message)

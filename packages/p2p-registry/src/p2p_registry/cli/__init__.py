"""The commands of `p2p-registry`; each is imported when it is called."""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from p2p_registry.errors import InvalidBackendUrlError, InvalidIdentityError, P2PRegistryError, SettingError

app: App = App(
    name="p2p-registry",
    help="Serve, list and publish the metadata of weight sources.",
    version=version("p2p-registry"),
    help_format="markdown",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    print_error=False,
    result_action="return_value",
    exit_on_error=False,
    suppress_keyboard_interrupt=False,
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


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments)
    except (CycloptsError, P2PRegistryError) as error:
        # By hand, because a terminal's boxes and line breaks hinder whoever reads this in a log.
        sys.stderr.write(f"p2p-registry: {_as_flags(str(error))}\n")
        usage = CycloptsError | InvalidBackendUrlError | InvalidIdentityError | SettingError
        return 2 if isinstance(error, usage) else 1
    return code if isinstance(code, int) else 0


def _as_flags(message: str) -> str:
    """Call settings what they are called here: `tls_cert_file=x` is `--tls-cert-file x`."""

    def flag(setting: re.Match[str]) -> str:
        return f"--{setting[1].replace('_', '-')}{' ' if setting[2] else ''}"

    words = "extra|framework|listen|name|namespace|rank|registry|replicas|timeout|topology"
    beginnings = "auth|heartbeat|http|interval|max|tls|token"
    names = rf"(?:{words})(?==)|(?:{beginnings})(?:_[a-z]+)+|source_type|[a-z]+_parallel_size"
    return re.sub(rf"(?<![\w/.-])({names})(=?)", flag, message)

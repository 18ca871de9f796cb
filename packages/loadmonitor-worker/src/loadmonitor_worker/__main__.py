"""The command `loadmonitor-worker`; heavy imports wait until a command needs them."""

import os
import sys
from importlib.metadata import version


def main() -> int:
    """Run the command line and return its exit code: 0 fine, 1 what was asked about is bad, 2 usage, 130 interrupted."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{version('loadmonitor-worker')}\n")
        return 0
    try:
        from loadmonitor_worker.cli import run  # noqa: PLC0415 - --version answers without it
    except ModuleNotFoundError as missing:
        sys.stderr.write(
            f"loadmonitor-worker: the command needs {missing.name}: pip install 'loadmonitor-worker[cli]'\n"
        )
        return 1
    try:
        return run(sys.argv[1:])
    except BrokenPipeError:
        # The reader of our output left; flushing what is still buffered at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

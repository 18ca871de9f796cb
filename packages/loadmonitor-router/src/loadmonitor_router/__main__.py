"""The command `loadmonitor`; heavy imports wait until a command needs them."""

import os
import sys


def main() -> int:
    """Run the command line and return its exit code: 0 fine, 1 what was asked about is bad, 2 usage, 130 interrupted."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version  # noqa: PLC0415 - --help doesn't need it

        sys.stdout.write(f"{version('loadmonitor-router')}\n")
        return 0
    try:
        from loadmonitor_router.cli import run  # noqa: PLC0415 - --version answers without it
    except ModuleNotFoundError as missing:
        sys.stderr.write(f"loadmonitor: the command needs {missing.name}: pip install 'loadmonitor-router[cli]'\n")
        return 1
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output left; flushing what is still buffered at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())

"""The command `nic-metrics`; heavy imports wait until a command needs them."""

import os
import sys


def main() -> int:
    """Run the command line and return its exit code: 0 fine, 1 what was asked about is bad, 2 usage, 130 interrupted."""
    if sys.stdout is None:
        # A supervisor that closes standard output wants no output; it isn't a reason to fail.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # a text stream, in every interpreter's start-up
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"nic-metrics: standard output can't be written: {error.strerror}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _run() -> int:
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version  # noqa: PLC0415 - --help doesn't need it

        sys.stdout.write(f"{version('nic-metrics')}\n")
        return 0
    try:
        from nic_metrics.cli import run  # noqa: PLC0415 - --version answers without it
    except ModuleNotFoundError as missing:
        sys.stderr.write(f"nic-metrics: the command needs {missing.name}: pip install 'nic-metrics[cli]'\n")
        return 1
    return run(sys.argv[1:])


def _drop_output() -> None:
    """Keep the interpreter from flushing once more, at its exit, what nobody takes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

"""The command `p2p-registry`; heavy imports wait until a command needs them."""

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
        sys.stderr.write(f"p2p-registry: standard output can't be written: {error.strerror}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _run() -> int:
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version  # noqa: PLC0415 - --help doesn't need it

        sys.stdout.write(f"{version('p2p-registry')}\n")
        return 0
    # gRPC's own lines go past the log's format, and hold what a client sent; it reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        from p2p_registry.cli import run  # noqa: PLC0415 - --version answers without it
    except ModuleNotFoundError as missing:
        sys.stderr.write(f"p2p-registry: the command needs {missing.name}: pip install 'p2p-registry[cli]'\n")
        return 1
    return run(sys.argv[1:])


def _drop_output() -> None:
    """Keep the interpreter from flushing once more, at its exit, what nobody takes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())

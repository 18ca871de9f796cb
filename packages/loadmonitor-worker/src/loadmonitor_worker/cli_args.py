"""Command-line flags for an engine that hosts a reporter."""

import argparse


def add_cli_args(parser: argparse.ArgumentParser, *, default_host: str | None = "127.0.0.1") -> None:
    """Add `--load-reporter-port` and `--load-reporter-host` to an engine's parser.

    Reporting stays off by default: `args.load_reporter_port` is None, which `ReporterConfig(port=...)` takes as it is.

    Args:
        parser: The engine's.
        default_host: `args.load_reporter_host` where the flag isn't given. None is for `load_settings`, which then takes the
            host from the environment, the code, or its own default.
    """
    group = parser.add_argument_group("load reporting")
    group.add_argument(
        "--load-reporter-port",
        type=_port,
        default=None,
        metavar="PORT",
        help="report scheduler load to routers on this port; 0 takes any free one (default: reporting is off)",
    )
    group.add_argument(
        "--load-reporter-host",
        default=default_host,
        metavar="HOST",
        help="address that routers reach (default: 127.0.0.1, this machine only)",
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a TCP port: 0 (any free port) to 65535 is")
    return int(text)

"""An engine embedded in a program of its own: it shares its flags with the servers, and refuses to report.

python docs/programs/embedded_engine.py
"""

import argparse
import sys

from loadmonitor_worker import ReporterConfig, ServingModeError, add_cli_args
from loadmonitor_worker.integrations import refuse_reporter


class Engine:
    """An engine without a server."""

    def __init__(self, config: ReporterConfig) -> None:
        """Start, unless load reporting is on."""
        refuse_reporter(config)

    def generate(self, prompt: str) -> str:
        """Answer a prompt."""
        return prompt[::-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_cli_args(parser)
    arguments = parser.parse_args()
    try:
        engine = Engine(ReporterConfig(port=arguments.load_reporter_port, host=arguments.load_reporter_host))
    except ServingModeError as error:
        sys.exit(f"embedded_engine: {error}")
    print(engine.generate("hello"))

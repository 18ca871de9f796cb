"""SGLang served by smg-grpc-servicer alone, with a load reporter from when its request manager is ready.

python docs/programs/serve_servicer.py --load-reporter-port 50061 -- --model-path M --port 30000
"""

import argparse
import asyncio
import importlib

from loadmonitor_worker import ReporterConfig, add_cli_args
from loadmonitor_worker.integrations import serve_with_reporter


def main() -> None:
    """Serve until SIGTERM or SIGINT, which the servicer receives."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_cli_args(parser)
    parser.add_argument("engine", nargs="*", help="SGLang's own flags")
    arguments = parser.parse_args()
    config = ReporterConfig(port=arguments.load_reporter_port, host=arguments.load_reporter_host)
    server_args = importlib.import_module("sglang.srt.server_args").prepare_server_args(arguments.engine)
    servicer = importlib.import_module("smg_grpc_servicer.sglang.server")
    asyncio.run(
        serve_with_reporter(
            servicer.serve_grpc,
            server_args,
            config=config,
            on_reporter_ready=lambda reporter: print("reporting on", reporter.address, flush=True),
        )
    )


if __name__ == "__main__":
    main()

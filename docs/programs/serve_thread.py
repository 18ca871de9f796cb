"""A synchronous engine, which has no event loop, with the load reporter on a thread of its own.

python docs/programs/serve_thread.py --load-reporter-port 50061
"""

import argparse
import sys
import time

from loadmonitor_worker import RankSnapshot, ReporterConfig, add_cli_args
from loadmonitor_worker.integrations import ReporterThread
from loadmonitor_worker.sources import CallableSource


class Engine:
    """Works off one line of standard input after the other, as a batch; knows nothing of asyncio."""

    running = 0

    def run(self) -> None:
        """Serve until the input ends."""
        for line in sys.stdin:
            self.running = len(line.split())
            print("running", self.running, flush=True)

    def load(self) -> list[RankSnapshot]:
        """Tell the load; called on the reporter's side, so it only reads."""
        running = self.running
        return [
            RankSnapshot(
                dp_rank=0,
                snapshot_time_unix_ms=time.time_ns() // 1_000_000,
                num_running_reqs=running,
                num_waiting_reqs=0,
                num_used_tokens=100 * running,
                num_total_tokens=100 * running,
                max_total_num_tokens=100_000,
                max_running_requests=1_000,
                token_usage=running / 1_000,
            )
        ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_cli_args(parser)
    arguments = parser.parse_args()
    engine = Engine()
    config = ReporterConfig(port=arguments.load_reporter_port, host=arguments.load_reporter_host)
    with ReporterThread(config, lambda: CallableSource(engine.load, [0])) as reporter:
        print("reporting on", reporter.address, flush=True)
        engine.run()

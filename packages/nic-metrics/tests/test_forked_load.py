"""Providers in forked children: nothing waits for a thread that the child hasn't got, and nothing of the parent's is shown."""

import subprocess
import sys
from pathlib import Path

from metrics_server import metrics, serving
from nic_tree import NicTree

PROGRAM = """
import os, sys, time
from nic_metrics import NicSignal, PortId, ServingLoadScraper, SourceLoadProvider

nic = NicSignal([PortId("mlx5_0")], root=sys.argv[1], min_window_seconds=0)
serving = ServingLoadScraper(sys.argv[2], interval_seconds=3600, deadline_seconds=20)
provider = SourceLoadProvider({"nic": nic, "serving": serving}, hold_seconds=3600)
while serving.read().value is None:
    time.sleep(0.01)
print("parent", provider(), flush=True)
# As if other threads were at work, which the child hasn't got.
locks = nic._lock, nic._sampler._lock, serving._lock, provider._lock
for lock in locks:
    lock.acquire()
child = os.fork()
if child == 0:
    provider()
    print("child", provider.explain().signals["nic"].reason, flush=True)
    while serving.read().value is None:
        time.sleep(0.01)
    print("child", provider(), flush=True)
    os._exit(0)
for lock in locks:
    lock.release()
os.waitpid(child, 0)
print("parent", provider(), flush=True)
provider.close()
"""


def test_a_forked_child_measures_for_itself(tmp_path: Path) -> None:
    NicTree(tmp_path).port("mlx5_0", {"counters/port_xmit_data": 0, "counters/port_rcv_data": 0})
    with serving() as server:
        # The parent asks once.
        server.answer = lambda connection: connection.sendall(
            metrics(b"vllm:kv_cache_usage_perc %.2f\n" % (0.25 if len(server.requests) == 1 else 0.75))
        )
        # From 3.12 on Python warns of forking with threads, which is what is tried here.
        flags = ["-W", "error", "-W", "ignore::DeprecationWarning", "-c", PROGRAM]
        command = [sys.executable, *flags, str(tmp_path), server.url]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50)
    assert ran.stdout.splitlines() == ["parent 0.25", "child first_sample", "child 0.75", "parent 0.25"]
    assert ran.stderr == ""

"""What a forked process knows of its parent's gRPC; without gRPC, whose waiting thread is played by another of its name."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading
from loadmonitor_proto.forking import cut_off_reason

waiting = threading.Event()

def _poll_wrapper():
    waiting.wait()

if sys.argv[1] != "before":
    thread = threading.Thread(target=_poll_wrapper, daemon=True)
    thread.start()
if sys.argv[1] == "after":
    waiting.set()
    thread.join()
pid = os.fork()
if pid == 0:
    reason = cut_off_reason()
    grandchild = os.fork()
    if grandchild == 0:
        os._exit(0 if (cut_off_reason() is None) == (reason is None) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0
    os.write(1, f"{reason} {os.environ['GRPC_ENABLE_FORK_SUPPORT']}".encode())
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert cut_off_reason() is None
"""


def told(moment: str) -> str:
    command = [sys.executable, "-c", PROGRAM, moment]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=50).stdout


def test_a_child_forked_while_grpc_waits_is_told_why_it_is_cut_off_and_so_is_its_child() -> None:
    assert "was forked while gRPC was in use" in told("while")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_child_forked_before_or_after_the_use_is_not_cut_off(moment: str) -> None:
    assert told(moment) == "None 0"

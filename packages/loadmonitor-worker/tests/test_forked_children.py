"""What a forked child lets go of, with plain sockets: grpcio before 1.80 leaves its own to the child."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from loadmonitor_worker.integrations._fork import detach_sockets

FORKS = """
import os, socket, sys
from functools import partial
from loadmonitor_worker.integrations._fork import detach_sockets, in_forked_children

server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
router = socket.create_connection(server.getsockname(), timeout=20)
accepted, _ = server.accept()
with in_forked_children(partial(detach_sockets, port)):
    going, gone = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(going[1])
        os.write(gone[1], b"x")
        os.read(going[0], 1)
        os._exit(0)
os.read(gone[0], 1)
accepted.sendall(b"a report")
assert router.recv(100) == b"a report", "the parent's own connection lives"
accepted.close()
server.close()
assert router.recv(100) == b"", "the child holds the connection"
socket.create_server(("127.0.0.1", port)).close()
os.write(going[1], b"x")
os.wait()
print("free")
"""


def test_a_forked_child_holds_neither_the_listener_nor_the_connections() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, check=False, timeout=40
    )
    assert ended.stdout == "free\n", ended.stderr


def test_other_sockets_and_the_numbers_stay() -> None:
    with socket.create_server(("127.0.0.1", 0)) as ours, socket.create_server(("127.0.0.1", 0)) as another:
        port, name = ours.getsockname()[1], another.getsockname()
        detach_sockets(port)
        assert another.getsockname() == name
        assert os.path.samestat(os.fstat(ours.fileno()), Path(os.devnull).stat()), "the number is taken"
        with socket.create_server(("127.0.0.1", port)):
            pass

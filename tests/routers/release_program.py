"""Runs released routers from an isolated environment that holds their wheel: `python release_program.py sglang_router|smg`.

The first line on stdout says what runs. Then each line on stdin is an order, a list of words, and is answered by one line:
`start LOG FLAG...` forks a router and answers its process id, `kill PID` ends one at once. At the end of stdin all are ended.
Nothing of the router is replaced: a forked process calls the `main` of the wheel's own command.
"""

import importlib
import importlib.metadata
import json
import os
import platform
import signal
import sys
from collections.abc import Callable
from pathlib import Path

COMMANDS = {
    "sglang_router": ("sglang_router.launch_router", "sglang-router", []),
    "smg": ("smg.cli", "smg", ["launch"]),
}


def run(main: Callable[[], None], log: str, arguments: list[str]) -> None:
    """Become a router."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = ["router", *arguments]
    main()


def say(line: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Say what runs, then carry out orders."""
    module_name, distribution_name, words = COMMANDS[sys.argv[1]]
    module = importlib.import_module(module_name)
    distribution = importlib.metadata.distribution(distribution_name)
    package = sys.argv[1]
    recorded = {Path(str(file.locate())).resolve() for file in distribution.files or ()}
    loaded = {
        Path(file).resolve(): name
        for name, loaded in sys.modules.items()
        if (file := getattr(loaded, "__file__", None))
    }
    strangers = [file for file, name in loaded.items() if name.partition(".")[0] == package and file not in recorded]
    say(
        json.dumps(
            {
                "distribution": distribution_name,
                "version": distribution.version,
                "python": platform.python_version(),
                "place": str(Path(str(distribution.locate_file(""))).resolve()),
                "modules": sorted(str(file) for file in loaded.keys() & recorded),
                "strangers": sorted(map(str, strangers)),
            }
        )
    )
    children: set[int] = set()
    try:
        for line in sys.stdin:
            order, *rest = json.loads(line)
            if order == "start":
                child = os.fork()
                if child == 0:
                    run(module.main, rest[0], [*words, *rest[1:]])
                    os._exit(0)
                children.add(child)
                say(str(child))
            else:
                child = int(rest[0])
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                children.discard(child)
                say(str(child))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()

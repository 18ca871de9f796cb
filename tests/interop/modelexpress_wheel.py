"""modelexpress 0.7.0 from its released wheel, in an environment of its own, without what it would drag in.

The environment holds the wheel without its dependencies, protobuf, grpcio and what a test asks for. A test's program runs there as a
subprocess: it imports the real package, with stand-ins for torch and huggingface_hub, and says in its first line what it ran and
what it stood in for.
"""

import json
import os
import shutil
import subprocess
import sys
from asyncio import StreamReader, StreamWriter, create_subprocess_exec
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

VERSION = "0.7.0"

PREAMBLE = """
import importlib.abc, importlib.machinery, importlib.metadata, json, platform, sys, types
from pathlib import Path

packages = Path(importlib.metadata.distribution("modelexpress").locate_file("modelexpress")).resolve()
stood_in = []

class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, key: cls)})

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] not in ("torch", "huggingface_hub"):
            return None
        stood_in.append(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass

def say_what_runs(*modules):
    files = {module.__name__: module.__file__ for module in (sys.modules["modelexpress"], *modules)}
    for file in files.values():
        assert Path(file).resolve().is_relative_to(packages), file
    print(json.dumps({
        "modelexpress": importlib.metadata.version("modelexpress"),
        "files": files,
        "stand_ins": sorted(stood_in),
        "protobuf": importlib.metadata.version("protobuf"),
        "python": platform.python_version(),
    }), flush=True)

def answer(commands):
    print(json.dumps(commands[sys.argv[1]](**json.load(sys.stdin))))

sys.meta_path.insert(0, Finder())
"""
"""What a program begins with; it calls `say_what_runs` after its imports. One that is run for a command calls `answer` at its end."""


class Modelexpress:
    """Runs a program beside modelexpress in its environment."""

    def __init__(self, environment: Path, program: str, stand_ins: list[str]) -> None:
        self._environment = environment
        self._program = program
        self._stand_ins = stand_ins

    def run(self, command: str, arguments: dict[str, Any], **variables: str) -> Any:
        """Run a command of the program and return what it found; what it ran has been checked and printed."""
        ended = subprocess.run(
            self._command(command),
            input=json.dumps(arguments),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=_environ(variables),
            timeout=240,
        )
        first, last = ended.stdout.splitlines()
        self._check(first)
        return json.loads(last)

    @asynccontextmanager
    async def talk(self, argument: str, **variables: str) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
        """Run the program with an argument, to read what it says and to write to it; what it runs has been checked and printed."""
        process = await create_subprocess_exec(
            *self._command(argument), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environ(variables)
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            self._check((await process.stdout.readline()).decode())
            yield process.stdout, process.stdin
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    def _command(self, argument: str) -> list[str]:
        return [str(self._environment / "bin" / "python"), "-I", "-c", PREAMBLE + self._program, argument]

    def _check(self, first: str) -> None:
        sys.stdout.write(f"{first.rstrip()}\n")
        ran = json.loads(first)
        assert (ran["modelexpress"], ran["stand_ins"]) == (VERSION, self._stand_ins)
        for file in ran["files"].values():
            assert "site-packages" in Path(file).relative_to(self._environment).parts


def _environ(variables: dict[str, str]) -> dict[str, str]:
    ours = ("MODEL_EXPRESS_", "MX_", "UCX_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables


@contextmanager
def modelexpress_of(
    directory: Path, program: str, stand_ins: list[str], *, also: Iterable[str] = ()
) -> Iterator[Modelexpress]:
    """Make the environment for a program, and remove it at the end.

    Args:
        directory: Where to make it.
        program: What runs in it, after the preamble.
        stand_ins: What the program is to say that it stood in for.
        also: Requirements of the program's own.
    """
    environment = directory / "environment"
    uv = os.environ.get("UV", "uv")
    python = environment / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--no-project", "--python", "3.11", environment], check=True, timeout=240)
    requirements = [f"modelexpress=={VERSION}", "protobuf>=6.33,<7", "grpcio", "typing-extensions", *also]
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", python, *requirements], check=True, timeout=240
    )
    yield Modelexpress(environment, program, stand_ins)
    shutil.rmtree(environment)

"""Runs in an environment that holds modelexpress without its dependencies: stands in for torch and huggingface_hub."""

import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import platform
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

STOOD_IN: list[str] = []
"""What was imported and isn't the real thing."""


class _StandIn(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls)})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if name.partition(".")[0] not in {"torch", "huggingface_hub"}:
            return None
        STOOD_IN.append(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def install() -> None:
    """Stand in from now on."""
    sys.meta_path.insert(0, _Finder())


def tell(modules: Iterable[types.ModuleType]) -> None:
    """Print what runs here as one line of JSON, after a check that these modules are the installed wheel's."""
    packages = Path(str(importlib.metadata.distribution("modelexpress").locate_file("modelexpress"))).resolve()
    files = {module.__name__: str(module.__file__) for module in modules}
    for file in files.values():
        assert Path(file).resolve().is_relative_to(packages), file
    told = {
        "modelexpress": importlib.metadata.version("modelexpress"),
        "files": files,
        "stand_ins": sorted(STOOD_IN),
        "protobuf": importlib.metadata.version("protobuf"),
        "grpcio": importlib.metadata.version("grpcio"),
        "python": platform.python_version(),
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()

"""The cells of the compatibility matrix: what is installed together, on what, and what must then run."""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from workspace import ROOT, Package, packages

PROTOBUFS = ("5.29.5", "6.33.*", "7.*")
PROTOBUF_IMPLEMENTATIONS = ("upb", "python")
ON_PROTOBUF = ("loadmonitor-proto", "loadmonitor-worker", "loadmonitor-router", "p2p-registry")
_SGLANG = "smg_grpc_proto.generated.sglang_scheduler_pb2"
QUICK_START_EXTRAS = {"loadmonitor-worker": ("load-reporter",)}
"""What a quick start needs beyond what its package installs by itself."""


class Neighbour(NamedTuple):
    """A project that shares an environment with these packages.

    All that it requires must resolve together with them. Installed is what it and they have in common, and itself without the rest:
    an accelerator's libraries would be gigabytes that say nothing.

    Attributes:
        requirement: Its release.
        shared: What it requires that these packages require too.
        generated: Its generated protobuf code, run in the same process before each quick start: a module, or a file where the module's
            package can't be imported without the rest. None where there is none.
    """

    requirement: str
    shared: tuple[str, ...]
    generated: str | None


NEIGHBOURS = (
    Neighbour("sglang==0.5.23", (), None),
    Neighbour("smg-grpc-proto==0.4.28", ("grpcio>=1.81.1", "protobuf>=6.33.5"), _SGLANG),
    Neighbour("smg-grpc-servicer==0.14.1", ("grpcio>=1.81.1", "protobuf>=6.33.5", "smg-grpc-proto>=0.4.27"), _SGLANG),
    Neighbour("modelexpress==0.7.0", ("grpcio>=1.66.2", "protobuf>=5.27.2,<7.0.0"), "modelexpress/p2p_pb2.py"),
)


@dataclass(frozen=True)
class Cell:
    """One environment.

    Attributes:
        name: What it is called in the output and in the document.
        python: The interpreter's path, or what `uv venv --python` takes.
        packages: Whose wheels are installed, and whose quick starts run.
        every_extra: Whether all extras are installed, so that every module must import; otherwise what the quick start needs.
        lowest: Whether third-party packages are as old as allowed, rather than as new.
        requirements: What else is installed.
        neighbour: Whom they share the environment with.
        environment: Variables.
    """

    name: str
    python: str
    packages: tuple[Package, ...]
    every_extra: bool = False
    lowest: bool = False
    requirements: tuple[str, ...] = ()
    neighbour: Neighbour | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def extras(self, package: Package) -> tuple[str, ...]:
        """Return the extras with which a package is installed."""
        return tuple(_declared(package)[1]) if self.every_extra else QUICK_START_EXTRAS.get(package.name, ())

    @property
    def name_without_python(self) -> str:
        """What it is called on the list of those that can't be resolved: on no interpreter."""
        return self.name.rpartition(", Python ")[0]

    def floors(self) -> list[str]:
        """Return what the packages and their siblings ask for, as requirements of the environment's own: only such are held low."""
        chosen = set(self.packages)
        while siblings := {each for each in packages() for one in chosen if _asks_for(one, each)} - chosen:
            chosen |= siblings
        names = {package.name for package in packages()}
        asked = {
            requirement
            for package in chosen
            for requirement in (*_declared(package)[0], *itertools.chain(*_declared(package)[1].values()))
        }
        return sorted(requirement for requirement in asked if not requirement.startswith(tuple(names)))


def _declared(package: Package) -> tuple[list[str], dict[str, list[str]]]:
    project = tomllib.loads((ROOT / package.folder / "pyproject.toml").read_text())["project"]
    return project["dependencies"], project.get("optional-dependencies", {})


def _asks_for(package: Package, other: Package) -> bool:
    dependencies, extras = _declared(package)
    return any(each.startswith(other.name) for each in (*dependencies, *itertools.chain(*extras.values())))


def cells(pythons: dict[str, str], *, long: bool) -> Iterator[Cell]:
    """Yield the matrix.

    Args:
        pythons: The interpreters by version, such as 3.12.
        long: Whether each protobuf is also tried beside the oldest of everything else.
    """
    members = tuple(packages())
    for version, python in pythons.items():
        for package in members:
            yield Cell(f"{package.name} alone, Python {version}", python, (package,))
        for lowest, package in itertools.product((True, False), members):
            age = "oldest" if lowest else "newest"
            name = f"{package.name} with every extra, {age}, Python {version}"
            yield Cell(name, python, (package,), every_extra=True, lowest=lowest)
        for lowest in (True, False):
            age = "oldest" if lowest else "newest"
            yield Cell(f"all packages, {age}, Python {version}", python, members, every_extra=True, lowest=lowest)
        speaking = tuple(package for package in members if package.name in ON_PROTOBUF)
        for lowest, protobuf, implementation in itertools.product(
            (True, False) if long else (False,), PROTOBUFS, PROTOBUF_IMPLEMENTATIONS
        ):
            age = "oldest" if lowest else "newest"
            yield Cell(
                f"protobuf {protobuf}, {implementation}, {age}, Python {version}",
                python,
                speaking,
                lowest=lowest,
                requirements=(f"protobuf=={protobuf}",),
                environment={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
            )
        for neighbour, protobuf in itertools.product(NEIGHBOURS, PROTOBUFS):
            name = f"with {neighbour.requirement}, protobuf {protobuf}, Python {version}"
            yield Cell(name, python, members, requirements=(f"protobuf=={protobuf}",), neighbour=neighbour)

"""The commands, errors and READMEs of all packages are made alike; CONTRIBUTING.md says how."""

import importlib
import inspect
import json
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from types import ModuleType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import pytest
from cyclopts import App

from workspace import ROOT, Package, packages

PACKAGES = packages()
WITH_COMMAND = [
    package for package in PACKAGES if (ROOT / package.folder / "src" / package.import_name / "cli").is_dir()
]
SOURCES = {package.name: ROOT / package.folder / "src" / package.import_name for package in PACKAGES}
SHELLS = ("bash", "fish", "zsh")
HEADINGS = ("Quick start", "At a terminal", "Metrics", "Errors", "In your tests")
WITHOUT = {"loadmonitor-proto": {"At a terminal", "Metrics"}}
"""Sections that a package has nothing to say in."""

VARIABLES = {
    "loadmonitor-worker serve": "LOADMONITOR_HTTP_LISTEN",
    "loadmonitor-worker config": "LOADMONITOR_",
    "loadmonitor-worker check": "LOADMONITOR_",
    "loadmonitor-worker drain": "LOADMONITOR_HTTP_LISTEN",
    "nic-metrics load": "MX_RDMA_NIC_PIN UCX_NET_DEVICES MX_P2P_RUNTIME_METRICS_URL",
    "nic-metrics serving-load": "MX_P2P_RUNTIME_METRICS_URL",
    "p2p-registry list": "MODEL_EXPRESS_URL MX_SERVER_ADDRESS",
    "p2p-registry publish": "MODEL_EXPRESS_URL MX_SERVER_ADDRESS",
    "p2p-registry serve": "MX_METADATA_BACKEND REDIS_URL MX_METADATA_NAMESPACE",
    "p2p-selection explain": "MX_P2P_SOURCE_SELECTOR MX_P2P_LOAD_WEIGHT MX_P2P_TOPOLOGY",
    "p2p-selection simulate": "MX_P2P_SOURCE_SELECTOR MX_P2P_LOAD_WEIGHT MX_P2P_TOPOLOGY",
}
"""The environment variables that a subcommand reads and its help names."""

LARGEST_MODULE_LINES = 300
LARGER = {"router_lifecycle/client.py", "router_lifecycle/_link.py"}
"""Modules that are larger still: each is one object with many calls."""


class Command(NamedTuple):
    """A console script, in this process."""

    name: str
    package: Package
    app: App
    run: Callable[[Sequence[str]], int]


class Flag(NamedTuple):
    """A flag of a subcommand."""

    name: str
    command: str
    type: object
    help: str


def command_of(package: Package) -> Command:
    module: Any = importlib.import_module(f"{package.import_name}.cli")
    return Command(module.app.name[0], package, module.app, module.run)


COMMANDS = {command.name: command for command in map(command_of, WITH_COMMAND)}


def leaves(app: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Yield every subcommand that does something, with the words that call it."""
    for name in app:
        if name.startswith("-"):
            continue
        inner = app[name]
        below = list(leaves(inner, (*path, name)))
        yield from below or [((*path, name), inner)]


SUBCOMMANDS = [(command, path) for command in COMMANDS.values() for path, _ in leaves(command.app)]
IDS = [" ".join((command.name, *path)) for command, path in SUBCOMMANDS]


def flags() -> Iterator[Flag]:
    for command in COMMANDS.values():
        for path, app in leaves(command.app):
            for argument in app.assemble_argument_collection(parse_docstring=True):
                name = next(iter(argument.names))
                if name.startswith("--") and argument.parameter.parse is not False and not argument.children:
                    yield Flag(name, " ".join((command.name, *path)), argument.hint, argument.parameter.help or "")


FLAGS = list(flags())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_its_version_and_its_subcommands_without_colour(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name]
    assert command.run(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)
    assert command.run(["--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Usage: {name} COMMAND\n")
    assert all(f"\n  {each}: " in told for each in command.app if not each.startswith("-"))
    assert "\x1b" not in told


@pytest.mark.parametrize(("command", "path"), SUBCOMMANDS, ids=IDS)
def test_a_subcommand_helps_in_full_and_names_its_variables(
    command: Command, path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run([*path, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    name = " ".join((command.name, *path))
    assert told.startswith(f"Usage: {name}")
    shown = dict(leaves(command.app))[path].default_command
    summary = (inspect.getdoc(shown) or "").split("\n\n")[0].replace("`", "")
    assert " ".join(summary.split()) in told, "its docstring isn't shown"
    assert [variable for variable in VARIABLES.get(name, "").split() if variable not in told] == []


@pytest.mark.parametrize(("command", "path"), [*((command, ()) for command in COMMANDS.values()), *SUBCOMMANDS])
def test_wrong_usage_is_one_line_and_exits_2(
    command: Command, path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run([*path, "--no-such-flag"]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith(f"{command.name}: ")


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_word_is_answered_alike(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMANDS[name].run(["nonsense"]) == 2
    assert re.fullmatch(
        rf'{name}: Unknown command "nonsense"\. Available commands: [a-z, -]+\.\n', capsys.readouterr().err
    )


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_shell_can_complete_every_subcommand(name: str, shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[name]
    assert command.run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [path for path, _ in leaves(command.app) if path[-1] not in script] == []


def test_a_flag_of_two_packages_has_one_type_and_one_row_in_contributing() -> None:
    """A row says what the flag means, so that nobody gives it another meaning."""
    rows = set(re.findall(r"^\| `(--[a-z-]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    owners = defaultdict(set)
    for flag in FLAGS:
        owners[flag.name].add(flag.command.split()[0])
    shared = {name for name, commands in owners.items() if len(commands) > 1}
    assert rows == shared
    kinds = defaultdict(set)
    for flag in FLAGS:
        kinds[flag.name].add(kind_of(flag.type))
    assert {name: kinds[name] for name in shared if len(kinds[name]) > 1} == {}


def kind_of(hint: object) -> object:
    """Return what a flag takes, whether or not it may be left out; of a choice its words."""
    if get_origin(hint) in (Union, UnionType):
        return kind_of(next(option for option in get_args(hint) if option is not type(None)))
    if get_origin(hint) is Literal:
        return frozenset(get_args(hint))
    return frozenset(map(str, hint)) if isinstance(hint, type) and issubclass(hint, Enum) else hint


def test_a_time_has_its_unit_in_its_name_or_is_in_seconds() -> None:
    bare = [flag for flag in FLAGS if flag.name in {"--timeout", "--interval"}]
    assert [flag for flag in bare if "float" not in str(flag.type) or "in seconds" not in flag.help] == []
    words = re.compile(r"--(.*-)?(age|budget|delay|heartbeat|interval|period|timeout|ttl|wait)$")
    assert [flag for flag in FLAGS if words.match(flag.name) and flag not in bare] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("loadmonitor-worker", ["config", "--source", "synthetic", "--json"]),
        ("loadmonitor-worker", ["check", "--source", "synthetic", "--json"]),
        ("p2p-selection", ["simulate", "--json"]),
        ("nic-metrics", ["load", "--no-nic", "--json"]),
    ],
)
def test_a_line_of_json_names_its_schema(
    name: str, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MX_P2P_RUNTIME_METRICS_URL", raising=False)
    COMMANDS[name].run(arguments)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["schema"] for line in lines} == {f"{name}.{arguments[0]}/1"}


def test_a_schema_is_the_command_the_subcommand_and_a_version() -> None:
    for command in COMMANDS.values():
        for file in sorted((SOURCES[command.package.name] / "cli").glob("*.py")):
            for schema in re.findall(r'^_?SCHEMA(?:: Final)? = "([^"]+)"', file.read_text(), re.MULTILINE):
                assert re.fullmatch(rf"{command.name}(\.[a-z-]+/1)?", schema), f"{file}: {schema}"


def modules_of(package: Package) -> Iterator[ModuleType]:
    found = importlib.import_module(package.import_name)
    yield found
    for each in pkgutil.walk_packages(found.__path__, f"{package.import_name}."):
        if not each.name.endswith(("__main__", ".lightkube")):
            yield importlib.import_module(each.name)


@pytest.mark.parametrize("package", WITH_COMMAND, ids=lambda package: package.name)
def test_every_error_of_a_package_derives_from_its_one_base_and_stands_in_the_tree(package: Package) -> None:
    errors = importlib.import_module(f"{package.import_name}.errors")
    tree = (errors.__doc__ or "").split()
    raised = {
        each
        for module in modules_of(package)
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Exception) and each.__module__.startswith(package.import_name)
    }
    base = getattr(errors, next(word for word in tree if word.endswith("Error")))
    assert base.__bases__ == (Exception,)
    # What isn't named an error says no more than what becomes of a function, inside the package.
    assert {each for each in raised if each.__name__.endswith("Error") and not issubclass(each, base)} == set()
    public = {
        each.__name__ for each in raised if each.__module__ == errors.__name__ and not each.__name__.startswith("_")
    }
    assert public - set(tree) == set()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_readme_has_the_sections_of_all_in_their_order(package: Package) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / package.folder / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    wanted = [title for title in HEADINGS if title not in WITHOUT.get(package.name, ())]
    assert titles[0] == wanted[0]
    assert titles[len(titles) - len(wanted) + 1 :] == wanted[1:]


def test_every_command_starts_and_ends_by_the_same_text() -> None:
    """Packages can't share code, so what each writes again is the same to the letter but for names."""
    shells = set()
    for command in COMMANDS.values():
        text = (SOURCES[command.package.name] / "__main__.py").read_text()
        for ours, common in (
            (command.package.import_name, "PACKAGE"),
            (f"'{command.package.name}", "'DISTRIBUTION"),
            (f"`{command.name}`", "`COMMAND`"),
            (f"{command.name}: ", "COMMAND: "),
        ):
            text = text.replace(ours, common)
        # What a library must read before it is imported belongs to the one that imports it.
        text = re.sub(r"^ *#[^\n]*\n +os\.environ\.setdefault[^\n]*\n", "", text, flags=re.MULTILINE)
        shells.add("".join(text.split()))
    assert len(shells) == 1


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_module_holds_one_idea(package: Package) -> None:
    source = SOURCES[package.name]
    large = {
        str(file.relative_to(source.parent))
        for file in source.rglob("*.py")
        if not file.name.endswith("_pb2.py") and len(file.read_text().splitlines()) > LARGEST_MODULE_LINES
    }
    assert large <= LARGER

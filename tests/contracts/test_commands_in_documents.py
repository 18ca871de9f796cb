"""Every command line of ours that a document shows is one that the command understands, and every file that it names is there."""

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cyclopts import App, CycloptsError

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "packages").glob("*/README.md")),
]
COMMANDS = {
    "loadmonitor": "loadmonitor_router.cli",
    "loadmonitor-worker": "loadmonitor_worker.cli",
    "nic-metrics": "nic_metrics.cli",
    "p2p-registry": "p2p_registry.cli",
    "p2p-selection": "p2p_selection.cli",
    "router-lifecycle": "router_lifecycle.cli",
}
_FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_FILE = re.compile(
    r"(?<![\w./-])(?:benchmarks|docs|packages|scripts|tests|\.github)/[\w./-]+\.(?:md|py|sh|svg|toml|yml)\b"
)
_SHELL = {"", "bash", "console"}
_ENDS = re.compile(r"&&|\|\||[|;<>()]+|2>&1")


class Line(NamedTuple):
    """One command line of a document: the words, and whether it stands in a block, where it is to be complete."""

    document: str
    words: tuple[str, ...]
    complete: bool

    def __str__(self) -> str:
        return f"{self.document}: {' '.join(self.words)}"


def simple_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each of our commands in a line of shell, without what is piped, redirected or assigned."""
    words = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
    words.whitespace_split = True
    words.commenters = "#"
    simple: list[str] = []
    for word in [*words, ";"]:
        if not _ENDS.fullmatch(word) and word != "&":
            simple.append(word)
            continue
        while simple and (simple[0] in {"$", "uv", "run"} or re.fullmatch(r"[A-Z_]+=.*", simple[0])):
            simple.pop(0)
        if simple and simple[0] in COMMANDS:
            yield simple
        simple = []


def lines_of(document: Path, root: Path = ROOT) -> Iterator[Line]:
    """Yield the command lines of a document: those of blocks whole, and what begins like one in running text."""
    text, name = document.read_text(), str(document.relative_to(root))
    blocks = [block for language, block in _FENCE.findall(text) if language in _SHELL]
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            if line.lstrip("$ ").partition(" ")[0] in COMMANDS or any(f"{each} " in line for each in COMMANDS):
                try:
                    for words in simple_commands(line):
                        yield Line(name, tuple(words), complete=True)
                except ValueError:
                    continue  # a line of output with a quotation mark
    for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", _FENCE.sub("", text)):
        if code.partition(" ")[0] in COMMANDS and " " in code:
            for words in simple_commands(code):
                yield Line(name, tuple(words), complete=False)


def fault(line: Line) -> str | None:
    """Return why the command doesn't understand the line, or None when it does."""
    app: App = importlib.import_module(COMMANDS[line.words[0]]).app
    words = [word for word in line.words[1:] if word not in {"…", "..."}]
    if words in (["--help"], ["--version"]):
        return None
    try:
        path, apps, rest = app.parse_commands(words)
        if not path:
            return f"there is no such subcommand as {words[0]!r}" if words else None
        if line.complete:
            apps[-1].parse_args(rest, print_error=False, exit_on_error=False)
            return None
        arguments = apps[-1].assemble_argument_collection() if apps[-1].default_command else ()
        known = {name for argument in arguments for name in argument.names}
    except (CycloptsError, ImportError) as error:
        return str(error)
    flags = [word.partition("=")[0] for word in rest[: rest.index("--") if "--" in rest else None] if word[:2] == "--"]
    unknown = [flag for flag in flags if flag not in known]
    return f"there is no flag {', '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_command_line_of_a_document_is_understood(document: Path) -> None:
    faults = [f"{line}: {wrong}" for line in lines_of(document) if (wrong := fault(line)) is not None]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_file_of_the_project_that_a_document_names_is_there(document: Path) -> None:
    named = set(_FILE.findall(document.read_text()))
    places = (ROOT, document.parent)
    assert not [name for name in sorted(named) if not any((place / name).exists() for place in places)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("`loadmonitor wacth`", "wacth"),
        ("`loadmonitor-worker serve --sourec`", "--sourec"),
        ("```\n$ loadmonitor watch --interval-ms soon 10.0.0.1:50061 | head\n```\n", "soon"),
        ("```\nrouter-lifecycle add http://10.0.0.1:30000 > handle.json\n```\n", "--router"),
        ("```\np2p-selection explain - \\\n    --target m,t,0 --plicy spread\n```\n", "--plicy"),
    ],
)
def test_a_command_line_that_would_fail_is_found(text: str, why: str, tmp_path: Path) -> None:
    document = tmp_path / "document.md"
    document.write_text(text)
    (line,) = lines_of(document, tmp_path)
    assert why in str(fault(line))

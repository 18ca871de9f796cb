"""`{state-machine} module:TABLE` draws a transition table of the code, so that the drawing can't differ from it."""

import importlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.graphviz import graphviz
from sphinx.util.docutils import SphinxDirective


class _State(Protocol):
    @property
    def value(self) -> str: ...

    @property
    def is_end(self) -> bool: ...


class _Step(Protocol):
    @property
    def to(self) -> _State: ...


def drawing(table: Mapping[tuple[_State, StrEnum], _Step]) -> str:
    """Return the table in the language of Graphviz: one arrow from state to state, with every sign that leads along it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (state, sign), step in table.items():
        arrows.setdefault((state.value, step.to.value), []).append(sign.value)
    ends = {step.to.value for step in table.values() if step.to.is_end}
    lines = [
        "rankdir=LR",
        'node [shape=box, style=rounded, fontname="sans-serif"]',
        'edge [fontname="sans-serif", fontsize=11]',
    ]
    lines += [f'"{state}" [peripheries=2]' for state in sorted(ends)]
    for (start, end), signs in arrows.items():
        label = "\\n".join(signs)
        lines.append(f'"{start}" -> "{end}" [label="{label}"]')
    return "digraph {" + "; ".join(lines) + "}"


class StateMachine(SphinxDirective):
    """The directive; its argument is `module:TABLE`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return one drawing."""
        module, _, name = self.arguments[0].partition(":")
        node = graphviz()
        node["code"] = drawing(getattr(importlib.import_module(module), name))
        node["options"] = {"docname": self.env.docname}
        node["alt"] = f"The states of {name} and the signs that lead from one to another"
        return [node]


def setup(app: Sphinx) -> None:
    """Offer the directive."""
    app.add_directive("state-machine", StateMachine)

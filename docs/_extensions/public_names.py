"""Public names as users write them: under the module that exports them, and looked up in their own package first."""

import importlib
import re
from pathlib import Path
from types import FunctionType

from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry, PythonDomain
from sphinx.environment import BuildEnvironment

_MODULE = re.compile(r"^\.\. automodule:: (\S+)$", re.MULTILINE)


class _OwnPackageFirst(PythonDomain):
    """The seven packages share names, such as ConfigError: an unqualified one means that of the page's own package."""

    def find_obj(
        self,
        env: BuildEnvironment,
        modname: str,
        classname: str,
        name: str,
        type: str | None,  # noqa: A002
        searchmode: int = 0,
    ) -> list[tuple[str, ObjectEntry]]:
        found = super().find_obj(env, modname, classname, name, type, searchmode)
        if len(found) > 1 and modname:
            package = modname.partition(".")[0] + "."
            own = [match for match in found if match[0].startswith(package)]
            return own[:1] or found
        return found


def _rename(_app: Sphinx) -> None:
    """Tell every exported class and function that it lives where it is exported: the shortest such module."""
    pages = sorted((Path(__file__).parents[1] / "reference").glob("*.md"))
    exporters = sorted((name for page in pages for name in _MODULE.findall(page.read_text())), key=len, reverse=True)
    for exporter in exporters:
        module, package = importlib.import_module(exporter), exporter.partition(".")[0]
        for name in getattr(module, "__all__", ()):
            exported = getattr(module, name)
            setattr(module, name, exported)  # autodoc doesn't see what a module loads only when asked for it
            if isinstance(exported, type | FunctionType) and exported.__module__.startswith(f"{package}."):
                exported.__module__ = exporter


def setup(app: Sphinx) -> None:
    """Rename before anything is read."""
    app.add_domain(_OwnPackageFirst, override=True)
    app.connect("builder-inited", _rename)

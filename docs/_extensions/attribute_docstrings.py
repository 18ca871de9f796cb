"""An attribute's docstring as it was written: napoleon takes the words before its first colon for a type."""

from sphinx.application import Sphinx

_written: dict[str, list[str]] = {}


def _keep(_app: Sphinx, what: str, name: str, _documented: object, _options: object, lines: list[str]) -> None:
    if what in {"attribute", "data", "property"}:
        _written[name] = lines.copy()


def _put_back(_app: Sphinx, _what: str, name: str, _documented: object, _options: object, lines: list[str]) -> None:
    lines[:] = _written.pop(name, lines)


def setup(app: Sphinx) -> None:
    """Stand on either side of napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _keep, priority=400)
    app.connect("autodoc-process-docstring", _put_back, priority=600)

"""Runs every Python block of the documents, each page from top to bottom in one namespace."""

from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], pattern="*.md", path=".").pytest()

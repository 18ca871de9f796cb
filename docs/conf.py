"""The site of the documents: `uv run sphinx-build -n -W docs build/docs`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "Control-plane SDK for LLM inference fleets"
html_title = "Control-plane SDK"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "attribute_docstrings",
    "public_names",
    "state_machines",
    "sphinx.ext.graphviz",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["programs", "quick-starts"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
graphviz_output_format = "svg"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

default_role = "code"
napoleon_use_ivar = True
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
python_use_unqualified_type_names = True

# Names of other projects, whose inventories an offline build can't ask for.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!loadmonitor_|router_lifecycle|nic_metrics|p2p_).*"),
    # A base class in a private module, a type variable, a generated message: each is spelled out where it counts.
    (r"py:.*", r".*\.(_\w+(\.\w+)*|\w*T|\w+_pb2\.\w+)"),
    # Protocols that say by shape what an engine's own object is, a dialect's base, and functions that check an annotated string.
    (r"py:.*", r".*\.(SglangManager|RequestManager|ServerArgs|WorkersRoutes|LoadedSettings|normalize_\w+_url)"),
]

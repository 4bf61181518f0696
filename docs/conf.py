"""How the site of these pages is built: `sphinx-build --fail-on-warning docs OUTPUT`."""

from __future__ import annotations

from importlib.metadata import version as version_of

__all__: list[str] = []

project = "detloader"
version = release = version_of("detloader")
html_title = f"{project} {version}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["Thumbs.db", ".DS_Store"]

# Pages link to headings as GitHub does, where they are read, too.
myst_heading_anchors = 3

html_theme = "furo"
# One page of the manual is one file; where a reader came from is the browser's business.
html_copy_source = False
html_show_copyright = False

# Docstrings are in Google's style, and name code between single backticks.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"
add_module_names = False

"""Sphinx's settings for the documentation site (`make docs`) and the manual pages (any wheel).

The source folder is the whole checkout, so that links between files work on the site as in the checkout.
The tag ``man`` reads only what the manual pages need: pip makes them where only click is installed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pathlab import __version__  # noqa: E402
from pathlab.cli.main import SUBCOMMANDS  # noqa: E402

project = "PathLab"
author = "the PathLab project"
copyright = f"2026, {author}"
version = release = __version__

root_doc = "docs/index"
extensions = ["myst_parser"]
COMMAND_PAGES = ["docs/cli/*.md", "docs/pathlab-engine.md", "campaigns/SCHEMA.md"]
if tags.has("man"):  # type: ignore[name-defined] # noqa: F821 -- Sphinx defines it
    include_patterns = COMMAND_PAGES
    root_doc = "docs/cli/index"
    suppress_warnings = ["toc.not_included"]
else:
    extensions += ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
    include_patterns = [
        *COMMAND_PAGES,
        "*.md",
        "docs/*.md",
        "docs/decisions/*.md",
        "examples/README.md",
        "agents/PROTOCOL.md",
        "agents/adapters/CONTRACT.md",
        "native/PROTOCOL.md",
        "benchmarks/README.md",
        "pathlab/reference/README.md",
    ]
exclude_patterns = [
    ".*",
    "build",
    "dist",
    "results",
    "tests",
    "native/build",
    "pathlab/agents",
    "pathlab/analysis",
]
exclude_patterns += ["pathlab/campaigns", "pathlab/_native"]

# Anchors as GitHub makes them, so that links to headings work in both places.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

smartquotes = False  # an option stays --option
html_theme = "furo"
html_title = f"PathLab {release}"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]

autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Floats": "Floats"}
maximum_signature_line_length = 90

man_pages = [
    (
        "docs/cli/index",
        "pathlab",
        "measure what a network path can carry, and what carrying it costs",
        author,
        1,
    ),
    *(
        (f"docs/cli/{name}", f"pathlab-{name}", text.rstrip("."), author, 1)
        for name, text in SUBCOMMANDS.items()
    ),
    (
        "docs/pathlab-engine",
        "pathlab-engine",
        "measure throughput and round-trip times over many streams",
        author,
        1,
    ),
    ("campaigns/SCHEMA", "pathlab-campaign", "format of campaign files", author, 5),
]


def list_modules(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Put an entry for every module of a package in the place of a comment, ``<!-- modules: FOLDER -->``."""

    def write_entries(found: re.Match[str]) -> str:
        files = sorted((ROOT / found[1]).glob("[a-z]*.py"))
        package = f"pathlab.{found[1]}".replace("/", ".")
        entries = (f".. automodule:: {package}.{file.stem}\n   :members:\n" for file in files)
        return "\n".join(("```{eval-rst}", *entries, "```"))

    source[0] = re.sub("<!-- modules: (.+?) -->", write_entries, source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", list_modules)

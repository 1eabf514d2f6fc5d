"""The documentation site: every warning is an error, and no page requests anything from elsewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pathlab.cli.main import SUBCOMMANDS
from tests.checkout import ROOT
from tests.release.making import MAKING_SECONDS
from tests.require import require

pytestmark = pytest.mark.timeout(MAKING_SECONDS)
#: Attributes and style rules with which a page has its browser fetch something.
REQUEST = re.compile(
    r"""<(?:script|img|iframe|source|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\bhref=["']?(?:https?:)?//|url\(["']?(?:https?:)?//|@import\s+["'](?:https?:)?//""",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def site() -> Path:
    """That of `make docs`: after it, only pages that have changed are built."""
    for name in ("sphinx", "myst_parser", "furo"):
        require(importlib.util.find_spec(name), f"{name} (pip install -e '.[docs]')")
    doctrees, built = ROOT / "build" / "doctrees", ROOT / "build" / "docs"
    words = ["-q", "-W", "--keep-going", "-c", "docs", "-d", str(doctrees), "-b", "html", ".", str(built)]
    command = [sys.executable, "-m", "sphinx", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


def test_the_site_builds_without_a_warning_and_requests_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    for name in ("index.html", "docs/index.html", "README.html", "campaigns/SCHEMA.html", "docs/api.html"):
        assert site / name in pages
    for name in SUBCOMMANDS:
        assert site / "docs" / "cli" / f"{name}.html" in pages
    for path in (*pages, *site.rglob("*.css")):
        found = REQUEST.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(site)}: {found}"


def test_a_request_to_elsewhere_would_be_found() -> None:
    for text in (
        '<script src="https://cdn.example/x.js">',
        '<link rel="stylesheet" href="//fonts.example/css">',
        "src: url('https://fonts.example/a.woff2')",
    ):
        assert REQUEST.search(text)
    assert not REQUEST.search('<a href="https://example.org">')

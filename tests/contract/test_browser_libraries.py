"""A version of plotly.js or uPlot that was recorded has the same files when it is fetched again."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_published_version_with_other_files_is_refused() -> None:
    libraries = runpy.run_path(str(ROOT / "tools" / "browser_libraries.py"))
    library, check_digests = libraries["LIBRARIES"]["uplot"], libraries["check_digests"]
    check_digests(library, {"LICENSE": "1", "script": "2"}, {"LICENSE": "1", "script": "2"})
    with pytest.raises(SystemExit, match=r"uplot: .* other files than recorded: script, style\.\n  fix: "):
        check_digests(library, {"LICENSE": "1", "script": "3"}, {"LICENSE": "1", "script": "2", "style": "4"})

"""One import package from four folders: links, map and type checker see the same files."""

import re

import pytest
from mypy.main import process_options

from tests.checkout import ROOT, list_tracked_files
from tests.release.wheels import LINKED


def test_links_and_map_agree() -> None:
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    mapped = dict(re.findall(r'"pathlab\.(\w+)": "(\w+)"', text))
    assert mapped == {name: name for name in LINKED}
    for name in LINKED:
        link = ROOT / "pathlab" / name
        assert link.is_symlink()
        assert str(link.readlink()) == f"../{name}"
        assert link.resolve() == ROOT / name
    links = {path.name for path in (ROOT / "pathlab").iterdir() if path.is_symlink()}
    assert links == LINKED


def test_the_type_checker_reads_every_tracked_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that `make check-types` hands to it; it checks them there."""
    monkeypatch.chdir(ROOT)
    sources, _ = process_options([])
    read = {str((ROOT / str(source.path)).resolve().relative_to(ROOT)) for source in sources}
    folders = ("pathlab", *LINKED, "tests", "examples", "action", "release", "tools")
    beside = {"agents/adapters/quic_aioquic.py", "agents/adapters/tcp_python.py"}  # import the harness there
    assert read == list_tracked_files(*(f"{folder}/*.py" for folder in folders)) - beside

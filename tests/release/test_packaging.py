"""One import package from four folders: links, map, type checker and wheel see the same files."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pathlab import __version__
from pathlab.cli.main import SUBCOMMANDS
from pathlab.remote.machines import find_own_machine
from tests.machines.engines import MACHINES
from tests.wheel import build_own_wheel, build_sources, build_wheel, list_tracked_files

ROOT = Path(__file__).resolve().parents[2]
LINKED = {"agents", "analysis", "campaigns"}


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


def test_the_type_checker_reads_every_tracked_file() -> None:
    folders = ("pathlab", "agents", "analysis", "campaigns", "tests", "examples", "action", "release")
    expected = list_tracked_files(*(f"{folder}/*.py" for folder in folders))
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    found = re.search(r"no issues found in (\d+) source files", done.stdout)
    assert found is not None, done.stdout
    beside = {
        "agents/adapters/quic_aioquic.py",
        "agents/adapters/tcp_python.py",
    }  # import the harness from there
    assert int(found.group(1)) == len(set(expected) - beside)


def test_the_source_distribution_holds_what_makes_a_wheel() -> None:
    with tarfile.open(build_sources()) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    links = {f"pathlab/{name}" for name in LINKED}
    folders = ("pathlab", *LINKED, "native", "docs", "examples", "requirements")
    expected = list_tracked_files(
        *folders, "*.md", "LICENSE", "setup.py", "pyproject.toml", "build_backend.py"
    )
    assert {name for name in expected if not name.startswith("tests/")} - links - names == set()
    assert not any(name.startswith(("native/build/", "tests/")) or "__pycache__" in name for name in names)


@pytest.mark.long  # each run of the release tests builds it as well
def test_the_wheel_for_every_machine_has_their_engines_and_digests() -> None:
    wheel = build_wheel()
    assert wheel.name == f"pathlab-{__version__}-py3-none-any.whl"
    assert check_engines(wheel) == set(MACHINES)
    check_content(wheel)


def test_a_wheel_from_sources_has_this_machines_engine_and_its_tag() -> None:
    wheel = build_own_wheel()
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"pathlab-{__version__}-py3-none-{platform}.whl"
    assert check_engines(wheel) == {find_own_machine()}
    check_content(wheel)


def check_engines(wheel: Path) -> set[str]:
    """The machines of the engines in a wheel: each engine may be executed, and has the manifest's digest."""
    with zipfile.ZipFile(wheel) as archive:
        digests = json.loads(archive.read("pathlab/_native/engines.json"))
        for machine, digest in digests.items():
            entry = archive.getinfo(f"pathlab/_native/pathlab-engine-{machine}")
            assert entry.external_attr >> 16 & 0o111, "the engine is executable"
            assert hashlib.sha256(archive.read(entry)).hexdigest() == digest
        engines = {name for name in archive.namelist() if "_native/pathlab-engine-" in name}
    assert len(engines) == len(digests)
    return set(digests)


def check_content(wheel: Path) -> None:
    """Every file is there, once."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [name for name, count in Counter(names).items() if count > 1] == []
    sources = {name.removeprefix("native/") for name in list_tracked_files("native/src/*.*")}
    assert {name.removeprefix("pathlab/_native/") for name in names if "_native/src/" in name} == sources
    for name in list_tracked_files("agents/adapters/*.*"):
        assert f"pathlab/{name}" in names  # those that are no Python too: hosts build them
    for folder in ("pathlab", *sorted(LINKED)):
        prefix = "" if folder == "pathlab" else "pathlab/"
        for name in list_tracked_files(f"{folder}/*.py"):
            if not any(name.startswith(f"pathlab/{linked}/") for linked in LINKED):
                assert prefix + name in names
    for name in ("pathlab/py.typed", "pathlab/campaigns/quickstart.toml", "pathlab/campaigns/SCHEMA.md"):
        assert name in names
    assert any(name.startswith("pathlab/report/templates/") for name in names)
    assert not any(name.startswith(("tests/", "agents/", "analysis/", "campaigns/")) for name in names)
    pages = {name.partition(".data/data/share/man/")[2] for name in names} - {""}
    commands = {f"man1/pathlab-{name}.1" for name in SUBCOMMANDS}
    assert pages == {"man1/pathlab.1", "man1/pathlab-engine.1", "man5/pathlab-campaign.5", *commands}

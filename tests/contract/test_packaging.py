"""One import package from four folders: links, map, type checker and wheel see the same files."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pathlab.cli.main import SUBCOMMANDS
from pathlab.errors import HostError
from pathlab.remote.engine import find_engine, find_engine_of_machine
from pathlab.remote.machines import find_own_machine
from tests.machines import build_engine
from tests.require import require

ROOT = Path(__file__).resolve().parents[2]
LINKED = {"agents", "analysis", "campaigns"}


def tracked_files(*patterns: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    require(listed.returncode == 0, "git and a checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


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
    folders = ("pathlab", "agents", "analysis", "campaigns", "tests", "examples", "action")
    expected = tracked_files(*(f"{folder}/*.py" for folder in folders))
    done = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    found = re.search(r"no issues found in (\d+) source files", done.stdout)
    assert found is not None, done.stdout
    assert int(found.group(1)) == len(expected)


def bring_engine(machine: str, source: Path) -> None:
    """Make a cross-built engine in the checkout and copy it, so that the wheel need not make it anew."""
    engine = build_engine(machine)
    copy = source / engine.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(engine, copy)


def copy_checkout(source: Path) -> Path:
    """Copy every tracked file, links as links."""
    for name in tracked_files():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        else:
            target.write_bytes((ROOT / name).read_bytes())
    return source


def test_the_source_distribution_holds_what_makes_a_wheel(tmp_path: Path) -> None:
    source = copy_checkout(tmp_path / "source")
    command = "import build_backend, sys; print(build_backend.build_sdist(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", command, str(tmp_path)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    links = {f"pathlab/{name}" for name in LINKED}
    folders = ("pathlab", *LINKED, "native", "docs", "examples")
    expected = tracked_files(*folders, "*.md", "LICENSE", "setup.py", "pyproject.toml", "build_backend.py")
    assert {name for name in expected if not name.startswith("tests/")} - links - names == set()
    assert not any(name.startswith(("native/build/", "tests/")) or "__pycache__" in name for name in names)


@pytest.mark.slow
def test_the_wheel_holds_every_file_once_and_the_engine(tmp_path: Path) -> None:
    require(importlib.util.find_spec("myst_parser"), "Sphinx and MyST (pip install -e '.[docs]')")
    source = copy_checkout(tmp_path / "source")
    bring_engine("aarch64", source)
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            tmp_path,
            source,
        ],
        env={**os.environ, "PATHLAB_WHEEL_MACHINES": "aarch64"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        machines = (find_own_machine(), "aarch64")
        engines = [archive.getinfo(f"pathlab/_native/pathlab-engine-{machine}") for machine in machines]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    for engine in engines:
        assert engine.external_attr >> 16 & 0o111, "the engine is executable"
    sources = {name.removeprefix("native/") for name in tracked_files("native/src/*.[ch]")}
    assert {name.removeprefix("pathlab/_native/") for name in names if "_native/src/" in name} == sources
    for folder in ("pathlab", *sorted(LINKED)):
        prefix = "" if folder == "pathlab" else "pathlab/"
        for name in tracked_files(f"{folder}/*.py"):
            if not any(name.startswith(f"pathlab/{linked}/") for linked in LINKED):
                assert prefix + name in names
    for name in ("pathlab/py.typed", "pathlab/campaigns/quickstart.toml", "pathlab/campaigns/SCHEMA.md"):
        assert name in names
    assert any(name.startswith("pathlab/report/templates/") for name in names)
    assert not any(name.startswith(("tests/", "agents/", "analysis/", "campaigns/")) for name in names)
    pages = {name.partition(".data/data/share/man/")[2] for name in names} - {""}
    commands = {f"man1/pathlab-{name}.1" for name in SUBCOMMANDS}
    assert pages == {"man1/pathlab.1", "man5/pathlab-campaign.5", *commands}


def test_an_engine_in_a_wheel_runs_on_machines_of_its_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel for any machine holds engines for some: one that was built for another machine never starts."""
    monkeypatch.delenv("PATHLAB_ENGINE", raising=False)
    package = tmp_path / "pathlab"
    native = package / "_native"
    native.mkdir(parents=True)
    foreign = native / "pathlab-engine-aarch64"
    shutil.copy2(build_engine("aarch64"), foreign)
    assert find_engine_of_machine("aarch64", package=package) == foreign
    with pytest.raises(HostError, match=f"no engine for {find_own_machine()} comes with this PathLab"):
        find_engine(environment={}, package=package)
    misnamed = native / f"pathlab-engine-{find_own_machine()}"
    shutil.copy2(foreign, misnamed)
    with pytest.raises(HostError, match=f"built for aarch64, and this is {find_own_machine()}"):
        find_engine(environment={}, package=package)
    with pytest.raises(HostError, match="PATHLAB_ENGINE, was built for aarch64"):
        find_engine(environment={"PATHLAB_ENGINE": str(foreign)}, package=package)

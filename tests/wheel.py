"""The wheel for every machine, the wheel for this machine, and the source distribution, each built once."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.built import build_once
from tests.machines.engines import MACHINES, make_shipped
from tests.require import require

ROOT = Path(__file__).resolve().parents[1]


def list_tracked_files(*patterns: str) -> set[str]:
    """Files of the checkout that are, or may be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    require(listed.returncode == 0, "git and a checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def copy_checkout(source: Path) -> Path:
    """Copy every tracked file, links as links."""
    for name in list_tracked_files():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        else:
            target.write_bytes((ROOT / name).read_bytes())
    return source


@functools.cache
def build_wheel() -> Path:
    """The wheel for every machine, as `make wheel` builds it."""
    return _build_once("wheel-of-every-machine", _build_wheel_of_every_machine)


@functools.cache
def build_own_wheel() -> Path:
    """The wheel for this machine, built from the source distribution."""
    return _build_once("own-wheel", _build_wheel_of_sources)


@functools.cache
def build_sources() -> Path:
    """The source distribution."""
    return _build_once("sources", _build_sources)


def _build_once(name: str, build: Callable[[Path, Path], None]) -> Path:
    """The one file that ``build`` puts into its second argument; built again when a tracked file changed."""
    require(find_spec("myst_parser"), "Sphinx and MyST (pip install -e '.[docs]')")

    def build_from_copy(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            build(copy_checkout(Path(work, "source")), folder)

    (built,) = build_once(name, _read_checkout(), build_from_copy).iterdir()
    return built


def _read_checkout() -> Iterator[str | bytes]:
    for name in sorted(list_tracked_files()):
        path = ROOT / name
        yield name
        yield str(path.readlink()) if path.is_symlink() else path.read_bytes()


def run_here(command: list[str], *, folder: Path = ROOT, machines: str = "") -> None:
    """Run a command that has to succeed; ``machines`` is what wheels are to be built for."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATHLAB_WHEEL_MACHINES": machines},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _make_wheel(source: Path, folder: Path, machines: str = "") -> None:
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    run_here([sys.executable, "-m", "pip", *words, str(source)], machines=machines)


def _build_wheel_of_every_machine(source: Path, folder: Path) -> None:
    make_shipped("engines")
    copies = source / "native" / "build" / "machines"
    copies.mkdir(parents=True)
    for machine in MACHINES:  # newer than the copied sources, so make leaves them as they are
        shutil.copy(ROOT / "native" / "build" / "machines" / f"pathlab-engine-{machine}", copies)
    _make_wheel(source, folder, "all")


def _build_wheel_of_sources(source: Path, folder: Path) -> None:
    shutil.unpack_archive(build_sources(), source.parent / "unpacked")
    (unpacked,) = (source.parent / "unpacked").iterdir()
    _make_wheel(unpacked, folder)


def _build_sources(source: Path, folder: Path) -> None:
    command = "import build_backend, sys; build_backend.build_sdist(sys.argv[1])"
    run_here([sys.executable, "-c", command, str(folder)], folder=source)

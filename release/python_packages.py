"""Wheel and source distribution."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from release.archives import normalize_tarball
from release.commands import run_program
from release.commit import Commit


def build_wheel(commit: Commit, into: Path) -> Path:
    """Build the wheel with the libraries of this environment; the same commit gives the same bytes."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _build([*command, "--no-build-isolation", "--wheel-dir", str(into), "."], commit)
    (wheel,) = into.glob(f"pathlab_analyzer-{commit.version}-*.whl")
    return wheel


def build_sdist(commit: Commit, into: Path) -> Path:
    """Build the source distribution; the same commit gives the same bytes."""
    script = "import build_backend, sys; build_backend.build_sdist(sys.argv[1])"
    _build([sys.executable, "-c", script, str(into)], commit)
    sdist = into / f"pathlab_analyzer-{commit.version}.tar.gz"
    normalize_tarball(sdist, commit.epoch_s)
    return sdist


def _build(command: list[str], commit: Commit) -> None:
    environment = {**os.environ, **commit.environment, "PATHLAB_WHEEL_MACHINES": "all"}
    run_program(command, folder=commit.folder, environment=environment)

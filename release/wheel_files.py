"""Engines and manual pages of a wheel: a release has them once more as files, with the same bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

_ENGINE = "pathlab/_native/pathlab-engine-"
_MANUAL = ".data/data/share/man/"


def read_engines(wheel: Path) -> dict[str, bytes]:
    """Static engines by machine, as `uname -m` names it."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name.removeprefix(_ENGINE): archive.read(name)
            for name in sorted(archive.namelist())
            if name.startswith(_ENGINE)
        }


def read_manual(wheel: Path) -> dict[str, bytes]:
    """Manual pages by their path below share/man, such as man1/pathlab.1."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            str(PurePosixPath(name.partition(_MANUAL)[2])): archive.read(name)
            for name in sorted(archive.namelist())
            if _MANUAL in name and not name.endswith("/")
        }

"""Brings another version of a library for browsers, unmodified, with its licence and digests.

``python docs/browser_libraries.py NAME VERSION``, with npm, which compares what it fetches with the digest
of the registry. The basic bundle of plotly.js is its smallest one; it has the traces ``scatter``, ``bar`` and
``pie``. uPlot draws long series.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPORT = Path(__file__).resolve().parents[1] / "pathlab" / "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLibrary:
    """``members``: the files of the npm package that are kept, under their names without folders."""

    package: str
    members: tuple[str, ...]
    folder: Path


LIBRARIES = {
    "plotly": BrowserLibrary(
        package="plotly.js-basic-dist-min",
        members=("plotly-basic.min.js", "LICENSE"),
        folder=REPORT / "plotly",
    ),
    "uplot": BrowserLibrary(
        package="uplot",
        members=("dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"),
        folder=REPORT / "explorer" / "uplot",
    ),
}


def bring_library(library: BrowserLibrary, version: str) -> None:
    """Replace the files of a library and what is recorded of them in ``bundle.toml``."""
    digests: dict[str, str] = {}
    library.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", f"{library.package}@{version}"], cwd=scratch, check=True)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for name in library.members:
                member = packed.extractfile(f"package/{name}")
                assert member is not None
                content = member.read()
                (library.folder / Path(name).name).write_bytes(content)
                digests[Path(name).name] = hashlib.sha256(content).hexdigest()
    lines = [f'package = "{library.package}"', f'version = "{version}"', "", "[sha256]"]
    lines += [f'"{name}" = "{digest}"' for name, digest in digests.items()]
    (library.folder / "bundle.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    bring_library(LIBRARIES[sys.argv[1]], sys.argv[2])

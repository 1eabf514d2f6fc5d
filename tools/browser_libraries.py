"""Brings another version of a library for browsers, unmodified, with its licence and digests.

``python tools/browser_libraries.py NAME VERSION``, with npm, which compares what it fetches with the digest
of the registry. Without VERSION the recorded version is fetched again and must have the recorded digests.
The basic bundle of plotly.js is its smallest one; it has the traces ``scatter``, ``bar`` and ``pie``.
uPlot draws long series.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PRODUCT = Path(__file__).resolve().parents[1] / "pathlab"


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
        folder=PRODUCT / "report" / "plotly",
    ),
    "uplot": BrowserLibrary(
        package="uplot",
        members=("dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"),
        folder=PRODUCT / "web" / "uplot",
    ),
}


def bring_library(library: BrowserLibrary, version: str | None) -> None:
    """Replace the files of a library and what is recorded of them in ``bundle.toml``."""
    record = library.folder / "bundle.toml"
    recorded = tomllib.loads(record.read_text(encoding="utf-8"))
    version = version or recorded["version"]
    contents = fetch_files(library, version)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    if version == recorded["version"]:
        check_digests(library, digests, recorded["sha256"])
    for name, content in contents.items():
        (library.folder / name).write_bytes(content)
    lines = [f'package = "{library.package}"', f'version = "{version}"', "", "[sha256]"]
    lines += [f'"{name}" = "{digest}"' for name, digest in digests.items()]
    record.write_text("\n".join([*lines, ""]), encoding="utf-8")


def check_digests(library: BrowserLibrary, result: Mapping[str, str], recorded: Mapping[str, str]) -> None:
    """SystemExit where a version that was published has other files now."""
    changed = sorted(name for name in {*result, *recorded} if result.get(name) != recorded.get(name))
    if changed:
        raise SystemExit(
            f"{library.package}: the recorded version has other files than recorded: {', '.join(changed)}.\n"
            "  fix: find out who changed them; use another version until then"
        )


def fetch_files(library: BrowserLibrary, version: str) -> dict[str, bytes]:
    """The members of a version's npm package, under their names without folders."""
    contents: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", f"{library.package}@{version}"], cwd=scratch, check=True)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for name in library.members:
                member = packed.extractfile(f"package/{name}")
                assert member is not None
                contents[Path(name).name] = member.read()
    return contents


if __name__ == "__main__":
    bring_library(LIBRARIES[sys.argv[1]], sys.argv[2] if len(sys.argv) > 2 else None)
